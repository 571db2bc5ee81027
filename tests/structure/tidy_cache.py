"""scripts/check_tidy.py skips a file only while nothing that its check depends on has changed. usage: tidy_cache.py"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path("scripts/check_tidy.py").resolve()


def main():
    if shutil.which("clang-tidy-19") is None:
        print("clang-tidy-19 is not installed: nothing to test")
        return
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        settings = "Checks: '-*,readability-identifier-naming,misc-unused-alias-decls'\nWarningsAsErrors: '*'\nHeaderFilterRegex: '.*'\nCheckOptions:\n  readability-identifier-naming.VariableCase: camelBack\n"

        def write(file, text):
            (folder / file).write_text(text)

        def commands(flags):
            write("compile_commands.json", json.dumps([
                {"directory": name, "file": f"{name}/{f}.cc", "command": f"clang++-19 {flags} -o {f}.o -c {name}/{f}.cc"} for f in "ab"]))

        def git(*words):
            author = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
            subprocess.run(["git", *author, *words], cwd=name, capture_output=True, check=True)

        def expect(what, checked, passes, options=(), among=2):
            command = [sys.executable, SCRIPT, ".", *options, "a.cc", "b.cc", "not_compiled.cc"]
            run = subprocess.run(command, cwd=name, capture_output=True, text=True)
            if f"({checked} of {among} files" not in run.stdout or (run.returncode == 0) != passes:
                failures.append(f"{what}: expected {checked} checked, passes {passes}; exit code {run.returncode}, {run.stdout}{run.stderr}")

        write(".clang-tidy", settings)
        write("inner.h", "inline int innerValue = 1;\n")
        write("outer.h", '#include "inner.h"\n')
        write("a.cc", '#include "outer.h"\nint aValue = innerValue;\n')
        write("b.cc", "int bValue = 1;\n")
        commands("-O1")
        expect("cold", 2, True)
        expect("nothing changed", 0, True)
        write("b.cc", "int b_value = 1;\n")
        expect("without what fails", 2, True, ["--without=readability-*,performance-*"])
        expect("a pass of fewer checks is none of all", 1, False)
        expect("it is one of as few", 0, True, ["--without=readability-*,performance-*"])
        expect("a file that fails", 1, False)
        expect("a failure is not remembered", 1, False)
        write("b.cc", "int bValue = 1;\n")
        expect("as it was when it passed", 0, True)
        write("inner.h", "inline int inner_value = 1;\n#define innerValue 1\n")
        expect("a header of a header", 1, False)
        write("inner.h", "inline int innerValue = 1;\n")
        write("b.cc", '#include "inner.h"\nint bValue = 1;\n')
        expect("a new include", 1, True)
        write("inner.h", "inline int inner_value = 1;\n#define innerValue 1\n")
        expect("the header of the new include", 2, False)
        write("inner.h", "inline int innerValue = 1;\n")
        expect("repaired", 0, True)
        commands("-O2")
        expect("another command", 2, True)
        write(".clang-tidy", settings + "  readability-identifier-naming.FunctionCase: camelBack\n")
        expect("other settings", 2, True)
        write("tidy-cache.json", "[1, 2")
        expect("a broken cache", 2, True)
        write("tidy-cache.json", '{"a.cc": 1, "b.cc": {"hash": ""}}')
        expect("a cache of another shape", 2, True)
        expect("written again", 0, True)

        since = ["--since=HEAD"]
        write("a.cc", '#include "outer.h"\nint aValue = innerValue;\n')
        write("b.cc", "int bValue = 1;\n")
        git("init", "--quiet")
        git("add", ".")
        git("commit", "--quiet", "--message=all")
        expect("nothing since the commit", 0, True, since, among=0)
        write("b.cc", "int b_value = 1;\n")
        expect("a source since the commit", 1, False, since, among=1)
        write("inner.h", "inline int inner_value = 1;\n#define innerValue 1\n")
        write("b.cc", "int bValue = 1;\n")
        expect("a header of a header since the commit", 1, False, since, among=1)
        write(".clang-tidy", settings + "# changed\n")
        expect("settings since the commit", 2, False, since, among=2)
        expect("at most so many", 1, False, since + ["--most=1"], among=1)
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    main()
