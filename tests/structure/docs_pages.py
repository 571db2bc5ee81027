"""The pages of the tree: every link leads somewhere, every page can be reached, every file and command they name exists.
usage: docs_pages.py BIN_FOLDER [unittest options], from the root of the tree; BIN_FOLDER holds the built programs"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import unittest

import pages

MAX_DECISION_LINES = 60  # one page


def links(page):
    """(target page or file, anchor) of each relative link."""
    text = re.sub(r"^```.*?^```", "", pages.read(page), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        folder = os.path.dirname(page)
        yield (os.path.normpath(os.path.join(folder, path)) if path else page), anchor


def anchors(page):
    """What a link can point at: headings in lower case, spaces as dashes, punctuation dropped."""
    headings = re.findall(r"^#+ (.*)", pages.read(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(page):
    """Command lines of firn in the blocks and in the prose of a page, as lists of words."""
    text = pages.read(page)
    lines = [line.strip() for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    lines += [line.strip() for line in text.splitlines() if line.startswith("    ")]
    lines += pages.inline_code(text)
    for line in lines:
        words = re.sub(r"\s#.*", "", line).split()
        if words and re.fullmatch(r"(\$firn|firn|build/\w+/bin/firn)", words[0]) and len(words) > 1:
            yield words[1:]


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in pages.markdown():
            for target, anchor in links(page):
                self.assertTrue(pathlib.Path(target).exists(), f"{page}: link to {target}")
                if anchor:
                    self.assertIn(anchor, anchors(target), f"{page}: link to {target}#{anchor}")

    def test_every_page_can_be_reached(self):
        reached, todo = set(), ["README.md"]
        while todo:
            page = todo.pop()
            if page in reached or not page.endswith(".md") or not pathlib.Path(page).is_file():
                continue
            reached.add(page)
            todo += [target for target, _ in links(page)]
        self.assertEqual(set(pages.markdown()) - reached, set(), "pages that no link leads to, from README.md on")

    def test_index_of_docs_is_complete(self):
        # A page may be linked from the index of its own folder.
        indexed = {target for index in ("docs/README.md", "docs/decisions/README.md") for target, _ in links(index)}
        wanted = {page for page in pages.markdown() if page.startswith("docs/")} - {"docs/README.md"}
        self.assertEqual(wanted - indexed, set())

    def test_named_files_exist(self):
        named = 0
        for page in pages.markdown():
            for path in pages.named_paths(pages.read(page)):
                named += 1
                self.assertTrue(pages.matches(path), f"{page} names {path}")
        self.assertGreater(named, 50)

    def test_scripts_exist(self):
        for page in pages.markdown():
            for script in re.findall(r"(?<![\w/.])scripts/[a-z][\w.-]*\b", pages.read(page)):
                self.assertTrue(pathlib.Path(script).exists(), f"{page} names {script}")
                if "." not in script:
                    self.assertTrue(os.access(script, os.X_OK), f"{script} cannot be run")

    def test_build_targets_exist(self):
        lists = "".join(pages.read(path) for path in pages.tracked() if path.endswith("CMakeLists.txt"))
        named = 0
        for page in pages.markdown():
            for line in re.findall(r"^ +(?:scripts/build \w+|ninja -C \S+|.*ctest .*-R) +'?([^'\n]+)", pages.read(page), re.M):
                for target in re.split(r"[ |]", line):
                    named += 1
                    self.assertTrue(re.search(rf"\({re.escape(target)}\s", lists), f"{page} names the target {target}")
        self.assertGreater(named, 5)

    def test_decisions_are_one_page_with_what_was_rejected(self):
        decisions = [page for page in pages.markdown() if re.match(r"docs/decisions/\d", page)]
        numbers = sorted(int(pathlib.Path(page).name[:4]) for page in decisions)
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        for page in decisions:
            text = pages.read(page)
            self.assertIn("**Decision.**", text, page)
            self.assertIn("**Rejected.**", text, page)
            self.assertLessEqual(len(text.splitlines()), MAX_DECISION_LINES, page)


class Commands(unittest.TestCase):
    """The subcommands and options that pages name are those of the built programs."""

    @functools.lru_cache
    def help_of(self, *words):
        if words[:1] == ("compile",) and not (bin_folder / "firn-compile").exists():
            return None  # a build without MLIR has no compiler
        done = subprocess.run([bin_folder / "firn", *words, "--help"], capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def test_commands(self):
        tested = 0
        for page in pages.markdown():
            for words in commands(page):
                with self.subTest(page=page, command=" ".join(words)):
                    tested += self.check(words)
        self.assertGreater(tested, 8)

    def check(self, words):
        known = words[0]
        if not re.fullmatch(r"[a-z]+", known):
            return 0  # `firn COMMAND --help`
        text = self.help_of(known)
        if text is None:
            return 0
        self.assertTrue(text, f"firn has no subcommand {known}")
        nested = re.search(r"^Subcommands:\n(.*)", text, re.M | re.S)
        if nested:
            names = re.findall(r"^  (\w+)", nested.group(1), re.M)
            self.assertTrue(len(words) > 1 and words[1] in names, f"firn {known} has {names}")
            text = self.help_of(known, words[1])
        for option in [word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)]:
            self.assertRegex(text, rf"(^|[\s,]){re.escape(option)}([\s,=]|$)", f"option {option}")
        return 1


if __name__ == "__main__":
    bin_folder = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
