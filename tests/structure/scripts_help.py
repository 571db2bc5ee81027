"""Every script answers --help and refuses what it does not take, before it does anything. usage: scripts_help.py"""
import pathlib
import subprocess
import sys
import unittest

SCRIPTS = sorted(path for path in pathlib.Path("scripts").iterdir() if path.suffix in ("", ".py") and path.is_file())
PASSES_OPTIONS_ON = {"test"}  # ctest judges them


def run(script, *arguments):
    program = [sys.executable, "-B", script] if script.suffix == ".py" else [script]
    return subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=60)


class Scripts(unittest.TestCase):
    def test_help(self):
        self.assertGreater(len(SCRIPTS), 8)
        for script in SCRIPTS:
            with self.subTest(script=script.name):
                done = run(script, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("usage: ", done.stdout)
                self.assertIn(script.name, done.stdout)
                self.assertNotRegex(done.stdout, r"(?m)^#|^set -")

    def test_unknown_options_are_refused(self):
        for script in SCRIPTS:
            if script.name in PASSES_OPTIONS_ON:
                continue
            with self.subTest(script=script.name):
                done = run(script, "--frob")
                self.assertEqual(done.returncode, 2, done.stdout)
                if script.suffix == "":
                    self.assertIn(f"scripts/{script.name}: there is no option '--frob'", done.stderr)

    def test_missing_and_more_words_are_refused(self):
        for name, words in {"build": [], "fuzz": [], "fetch_model": ["x"], "setup": ["x"], "test-slow": ["x"],
                            "check": ["x"], "quickstart": ["x", "y"]}.items():
            with self.subTest(script=name):
                done = run(pathlib.Path("scripts", name), *words)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn("--help", done.stderr)


if __name__ == "__main__":
    unittest.main()
