"""What the programs link: `firn` neither MLIR nor LLVM, which would cost every run memory and time; `firn-compile` does.
usage: program_links.py BIN_FOLDER"""
import pathlib
import re
import subprocess
import sys


def needed(program):
    """Names of the shared libraries that the program and they load."""
    return subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout


def main():
    folder = pathlib.Path(sys.argv[1])
    compiler_libraries = re.compile(r"lib(MLIR|LLVM)\S*")
    found = compiler_libraries.search(needed(folder / "firn"))
    if found:
        sys.exit(f"firn links {found.group(0)}: no folder that it is made of may use compiler/ beyond compiler/import")
    compiler = folder / "firn-compile"
    if compiler.exists() and not compiler_libraries.search(needed(compiler)):
        sys.exit("firn-compile links no library of MLIR or LLVM: this test looks for the wrong names")


if __name__ == "__main__":
    main()
