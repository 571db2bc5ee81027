"""clang-tidy over the source files that a build folder compiles, except those that passed before and have not changed.

usage: check_tidy.py BUILD_FOLDER [--without=CHECKS] [--since=COMMIT [--most=FILES]] FILE...

CHECKS are globs with commas between them, of checks of .clang-tidy that do not run. With COMMIT only files are looked at that have
changed since, or that include a header which has.

A pass is remembered in BUILD_FOLDER/tidy-cache.json, one without CHECKS in tidy-cache-part.json: the non-system headers that the
compiler found for the file, and a hash of clang-tidy's version, .clang-tidy, CHECKS, the compile command, and the bytes of the file
and of those headers. A file is skipped only while all of that is the same; without the cache, or with one that cannot be read, every
file is checked.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

TIDY = "clang-tidy-19"


class Cache:
    """Passes by source file: {"headers": [...], "hash": "..."}."""

    def __init__(self, path, settings):
        self.path = path
        self.settings = settings
        self.digests = {}
        try:
            self.passed = dict(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            self.passed = {}

    def digest(self, file):
        if file not in self.digests:
            self.digests[file] = hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
        return self.digests[file]

    def key(self, source, command, headers):
        parts = [self.settings, command, self.digest(source), *(x for h in headers for x in (h, self.digest(h)))]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def has(self, source, command):
        try:
            entry = self.passed[source]
            return entry["hash"] == self.key(source, command, entry["headers"])
        except (KeyError, TypeError, OSError):  # never passed, or a header is gone
            return False

    def add(self, source, command, headers):
        self.passed[source] = {"headers": headers, "hash": self.key(source, command, headers)}

    def write(self):
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.passed))
        temporary.replace(self.path)


def headers_of(entry):
    """The non-system headers that the compiler reads for a file now; what the build has recorded may be older."""
    command = shlex.split(entry["command"])
    at = command.index("-o")
    out = subprocess.run(command[:at] + command[at + 2:] + ["-MM"], cwd=entry["directory"], capture_output=True, text=True, check=True)
    words = out.stdout.replace("\\\n", " ").split()[2:]
    return sorted(os.path.relpath(os.path.join(entry["directory"], word)) for word in words)


def check(source, commands, folder, without):
    """(passed, what clang-tidy said, headers)."""
    headers = sorted({header for entry in commands for header in headers_of(entry)})
    fewer = ["--checks=" + ",".join("-" + glob for glob in without)] if without else []
    run = subprocess.run([TIDY, "--quiet", *fewer, "-p", folder, source], capture_output=True, text=True)
    return run.returncode == 0, run.stdout + (run.stderr if run.returncode != 0 else ""), headers


def changed_since(commit, sources, commands, most):
    """Those of `sources` that git says have changed, or a header that they include, or the checks themselves: at most so many, those
    that have changed themselves first."""
    out = subprocess.run(["git", "diff", "--name-only", commit], capture_output=True, text=True, check=True).stdout
    changed = set(out.splitlines())
    if ".clang-tidy" in changed:
        return sources[:most]
    found = [s for s in sources if s in changed]
    if not any(file.endswith((".h", ".def")) for file in changed):
        return found[:most]
    others = [s for s in sources if s not in changed]
    step = 8 * os.cpu_count()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for at in range(0, len(others), step):
            if len(found) >= most:
                break
            read = pool.map(lambda s: {header for entry in commands[s] for header in headers_of(entry)}, others[at : at + step])
            found += [s for s, headers in zip(others[at : at + step], read) if headers & changed]
    return found[:most]


def option(name):
    """The value of `--name=VALUE` where it is the next word behind the folder."""
    if len(sys.argv) > 2 and sys.argv[2].startswith(f"--{name}="):
        return sys.argv.pop(2).removeprefix(f"--{name}=")
    return ""


def main():
    without = [glob for glob in option("without").split(",") if glob]
    since = option("since")
    most = int(option("most") or 10**9)
    if len(sys.argv) < 2 or any(argument.startswith("-") for argument in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] == ["--help"] else 2)
    folder, *sources = sys.argv[1:]
    commands = {}  # a file that several programs compile has several
    for entry in json.loads(pathlib.Path(folder, "compile_commands.json").read_text()):
        commands.setdefault(os.path.relpath(entry["file"]), []).append(entry)
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    name = "tidy-cache-part.json" if without else "tidy-cache.json"
    cache = Cache(pathlib.Path(folder, name), [version, pathlib.Path(".clang-tidy").read_text(), without])
    sources = [s for s in sources if s in commands]  # only what the preset compiles can be checked
    if since:
        sources = changed_since(since, sources, commands, most)
    texts = {s: sorted(entry["command"] for entry in commands[s]) for s in sources}
    stale = [s for s in sources if not cache.has(s, texts[s])]
    print(f"check: clang-tidy ({len(stale)} of {len(sources)} files; the others have passed)", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(check, s, commands[s], folder, without): s for s in stale}
        try:
            for run in concurrent.futures.as_completed(runs):
                passed, said, headers = run.result()
                print(said, end="", flush=True)
                failed |= not passed
                if passed:
                    cache.add(runs[run], texts[runs[run]], headers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            cache.write()
    if failed:
        sys.exit("check: clang-tidy FAILED")


if __name__ == "__main__":
    main()
