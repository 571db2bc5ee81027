"""What the tests of the documents share: the pages of the tree, and the paths, links and commands that they name."""
import functools
import pathlib
import re
import subprocess


NOT_OF_THE_TREE = {".git", ".venv", "build", "__pycache__"}


@functools.lru_cache(maxsize=None)
def tracked():
    """Every file of the tree, also those not yet added to git, as posix paths from the root."""
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True)
    if listing.returncode == 0:
        paths = listing.stdout.decode().split("\0")
    else:  # an unpacked archive, or a clone of another user
        paths = [path.as_posix() for path in pathlib.Path(".").rglob("*") if not NOT_OF_THE_TREE.intersection(path.parts)]
    return sorted(path for path in paths if path and pathlib.Path(path).is_file())


@functools.lru_cache(maxsize=None)
def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def markdown():
    return [path for path in tracked() if path.endswith(".md")]


def inline_code(text):
    """The `code` of prose and tables; fenced and indented blocks are left out."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    return re.findall(r"`([^`\n]+)`", text)


def named_paths(text):
    """Paths from the root that a page names: `blob/layout.h`, `kernels/reference/<op>.cc`, `runtime/devices/`."""
    folders = {path.split("/")[0] for path in tracked() if "/" in path}
    for code in inline_code(text):
        if re.fullmatch(r"[\w.]+/[\w./<>-]*", code) and code.split("/")[0] in folders:
            yield code


def matches(path):
    """The tracked files that a named path stands for; <...> stands for any name, a final / for a whole folder."""
    pattern = re.sub(r"<[^>]*>", r"[^/]+", path.replace(".", r"\.")) + (".*" if path.endswith("/") else r"(/.*)?")
    return [file for file in tracked() if re.fullmatch(pattern, file)]


def without_comments(path):
    """The text of a source file; comments of C++, TableGen and CMake are dropped."""
    text = read(path)
    if path.endswith((".txt", ".cmake")):
        return re.sub(r"#.*", "", text)
    return re.sub(r"//.*", "", text)
