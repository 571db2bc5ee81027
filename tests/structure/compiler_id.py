"""The compiler's identity hashes every source that decides the bytes of a blob, and nothing else: with each source those
that it includes, the source beside each header, every machine file, and no test.
usage: compiler_id.py BUILD_FOLDER, from the root of the tree"""
import pathlib
import re
import sys


def included(path):
    """The files of the tree that a source includes; those that the build writes are made from .td files of the list."""
    names = re.findall(r'^\s*(?:#\s*)?include\s*"([^"]+)"', pathlib.Path(path).read_text(), re.M)
    return {name for name in names if pathlib.Path(name).is_file()}


def problems(listed):
    for path in sorted(listed):
        if re.search(r"_test\.|_for_test\.|/test/|/(sample_program|sample_file|npu_sample|two_target_program)\.", path):
            yield f"{path} decides no byte of a blob, but is hashed"
        for needed in included(path):
            if needed not in listed:
                yield f"{path} includes {needed}, which is not hashed"
        beside = re.sub(r"\.h$", ".cc", path)
        if pathlib.Path(beside).is_file() and beside not in listed:
            yield f"{beside} stands beside {path}, but is not hashed"
    for machine in sorted(map(str, pathlib.Path("compiler/target/npu/machines").glob("*.json"))):
        if machine not in listed and re.search(r"/\w+\.json$", machine):  # with a second dot it is not built in
            yield f"{machine} is built into the compiler, but is not hashed"


def main():
    listed = set(pathlib.Path(sys.argv[1], "compiler/id_sources.txt").read_text().split())
    found = list(problems(listed))
    if len(listed) < 200:
        found.append(f"only {len(listed)} sources are hashed")
    if found:
        sys.exit("compiler_id: " + "\ncompiler_id: ".join(found))


if __name__ == "__main__":
    main()
