"""Structure rules of CONTRIBUTING.md: include graph, file and folder sizes, words in names, suites of tests, how
the project speaks.

The include graph is read from ARCHITECTURE.md: lines `folder: folder folder ...` of the block that follows "## Include graph".
usage: check_structure.py, from the root of the tree
"""
import pathlib
import re
import subprocess
import sys

FORBIDDEN_WORDS = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
MAX_LINES = 800        # look again at 500; a file this long does more than one thing
MAX_UNITS = 40         # a header, source and test of one thing stand together and count once
SOURCE = {".h", ".cc", ".td", ".def", ".mlir", ".py", ".sh", ""}


def tracked_files():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True)
    return [p for p in map(pathlib.Path, filter(None, out.stdout.decode().split("\0"))) if p.is_file()]


def allowed_includes():
    graph = {}
    block = re.search(r"^## Include graph\n.*?```\n(.*?)```", pathlib.Path("ARCHITECTURE.md").read_text(), re.M | re.S)
    if block is None:
        sys.exit('check_structure: ARCHITECTURE.md has no block after "## Include graph"')
    for line in block.group(1).splitlines():
        if line.strip():
            folder, _, rest = line.partition(":")
            graph[folder.strip()] = {folder.strip(), *rest.split()}
    return graph


def area(path, graph):
    """The longest folder of the graph that holds the path."""
    parts = pathlib.PurePosixPath(path).parts[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in graph:
            return "/".join(parts[:length])
    return None


def check_includes(files, graph):
    for path in files:
        if path.suffix not in {".h", ".cc"}:
            continue
        mine = area(path.as_posix(), graph)
        if mine is None:
            yield f"{path}: its folder is not in the include graph of ARCHITECTURE.md"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if match is None:
                continue
            target = match.group(1)
            if ".." in pathlib.PurePosixPath(target).parts:
                yield f"{path}:{number}: {target} goes around the include graph: include from the root"
                continue
            if re.match(r"(mlir|llvm)/", target):
                theirs = "mlir"
            else:
                theirs = area(target, graph)
                if theirs is None:
                    continue  # a system or library header
            if theirs not in graph[mine]:
                yield f"{path}:{number}: {mine} must not include {target} (allowed: {' '.join(sorted(graph[mine]))})"


def check_sizes(files):
    units = {}
    for path in files:
        if path.suffix in SOURCE and path.parts[0] not in {"LICENSE", ".ci"} and "data" not in path.parts and "corpus" not in path.parts:
            lines = len(path.read_text(errors="replace").splitlines())
            if lines > MAX_LINES:
                yield f"{path}: {lines} lines, at most {MAX_LINES}: split it by what its parts do"
        if path.suffix in {".h", ".cc"}:
            units.setdefault(path.parent, set()).add(re.sub(r"_test$", "", path.stem))
    for folder, names in units.items():
        if len(names) > MAX_UNITS:
            yield f"{folder}: {len(names)} things, at most {MAX_UNITS}: make a folder for a part of them"


def check_words(files):
    for path in files:
        words = re.split(r"[^a-z]+", path.as_posix().lower())
        bad = FORBIDDEN_WORDS.intersection(words)
        if bad:
            yield f"{path}: the name says nothing: {', '.join(sorted(bad))}"
        if path.suffix in {".h", ".cc"}:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r"\s*(?:class|struct|namespace|enum class)\s+([A-Za-z0-9_]+)", line)
                if match and FORBIDDEN_WORDS.intersection(w.lower() for w in re.findall(r"[A-Z]?[a-z]+", match.group(1))):
                    yield f"{path}:{number}: the name says nothing: {match.group(1)}"


def check_suites(files):
    """Test suites have one style of name, so that a filter or a report is read without looking a name up."""
    for path in files:
        if path.suffix != ".cc":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r"TEST(?:_F|_P)?\((\w+)", line)
            if match and not match.group(1).endswith("Test"):
                yield f"{path}:{number}: the suite {match.group(1)} has no Test at its end"


def check_speech(files):
    """No half-done work."""
    for path in files:
        if path.name == pathlib.Path(__file__).name or "data" in path.parts or "corpus" in path.parts or path.suffix in {".gguf"}:
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\bFIXME\b|#if 0|\bTODO(?!\()", line):
                yield f"{path}:{number}: unfinished work: {line.strip()[:80]}"


def main():
    if len(sys.argv) > 1:
        print(__doc__.strip())
        return 0 if sys.argv[1:] == ["--help"] else 2
    files = tracked_files()
    problems = [*check_includes(files, allowed_includes()), *check_sizes(files), *check_words(files), *check_suites(files),
                *check_speech(files)]
    for problem in problems:
        print(problem)
    print(f"check_structure: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
