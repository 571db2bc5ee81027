"""The how-tos against the tree. A how-to says in tables which files an architecture, an op, a weight format and a device
touch; for those that are there, the tables must name exactly the files that speak of them, and each file must.
usage: howto_counts.py [unittest options], from the root of the tree"""
import re
import unittest

import pages

ARCHITECTURES = "docs/howto/add_an_architecture.md"
DEVICES = "docs/howto/add_a_device.md"
FORMATS = "docs/howto/add_a_weight_format.md"
OPS = "docs/howto/add_an_op.md"


def table_paths(page, section=None):
    """Paths in the first column of the tables of a page, or of one section of it."""
    text = pages.read(page)
    if section is not None:
        text = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)
    return re.findall(r"^\| `([^`]+)` \|", text, re.M)


def is_product(path):
    """Sources that are built into the programs: no tests, no data of tests, no documents, no measurements."""
    if re.match(r"(docs|tests|fuzz|bench|scripts|runtime/cts)/", path) or "/test/" in path:
        return False
    if re.search(r"_test\.cc$|_for_test\.h$|/(sample_program|sample_file|npu_sample|two_target_program)\.(h|cc)$", path):
        return False
    return path.endswith((".cc", ".h", ".td", ".def", "CMakeLists.txt"))


def speakers(pattern):
    """The sources of the programs that match, comments aside."""
    return {path for path in pages.tracked() if is_product(path) and re.search(pattern, pages.without_comments(path))}


def camel(snake):
    return "".join(part.capitalize() for part in snake.split("_"))


def word(snake):
    """A name in any of its spellings: rms_norm, rmsNorm, kRefRmsNorm; but not as a part of a longer word."""
    title = camel(snake)
    return rf"(?<![a-z_]){snake}(?![a-z])|(?<![a-z]){title[0].lower()}{title[1:]}(?![a-z])|{title}(?![a-z])"


class HowTo(unittest.TestCase):
    def assert_tables(self, paths, name, pattern, exact=True, besides=()):
        """Every file of the tables speaks of `name`; where `exact`, no other source of the programs but `besides` does."""
        expected = set()
        for path in paths:
            found = pages.matches(re.sub(r"<\w+>", name, path))
            self.assertTrue(found, f"{path}: {name} has none")
            speaking = [file for file in found if re.search(pattern, file) or re.search(pattern, pages.read(file))]
            self.assertTrue(speaking, f"{path} does not speak of {name}")
            expected |= {file for file in speaking if is_product(file)}
        if exact:
            self.assertEqual(speakers(pattern) - set(besides), expected, f"sources that speak of {name}, and files that the how-to names")

    def test_architectures(self):
        names = re.findall(r'^FIRN_ARCHITECTURE\("([^"]+)"', pages.read("compiler/import/models/architectures.def"), re.M)
        files = {re.sub(r".*/|\.cc", "", path) for path in pages.matches("compiler/import/models/") if path.endswith(".cc")}
        self.assertEqual(set(names), files - {"architectures"})
        paths = table_paths(ARCHITECTURES, "New files") + table_paths(ARCHITECTURES, "Lines elsewhere")
        self.assertGreaterEqual(len(paths), 9)
        for name in names:
            products = [path for path in paths if is_product(path) and path != "compiler/import/CMakeLists.txt"]
            # A tokenizer may be named after a model, and is shared by others.
            self.assert_tables(products, name, rf'"{name}"|import{camel(name)}\b', besides=["blob/split_rule.cc"])
            self.assert_tables(paths, name, re.compile(name, re.I), exact=False)

    def test_formats(self):
        rows = re.findall(r'"(\w+)", \d+, \d+, -?\d+, true\}', pages.read("base/dtype.cc"))
        self.assertGreaterEqual(len(rows), 3)
        paths = table_paths(FORMATS)
        for name in rows:
            short = name.replace("_", "")
            self.assert_tables(paths, name, re.compile(rf"(?<![a-z0-9]){name}(?!\d)|{short}(?!\d)|k{name}\b", re.I))

    def test_reference_ops(self):
        names = set(re.findall(r'"ref\.(\w+)"', pages.read("blob/task_op.cc")))
        paths = table_paths(OPS, "New files") + table_paths(OPS, "Lines elsewhere")
        self.assertGreaterEqual(len(paths), 13)
        # copy is a task without an op.
        for name in names - {"copy"}:
            # No cpu kernel, pass or importer speaks of softcap: for it the list is complete, but for the npu's kernel.
            npu = re.compile(r"(blob/machine|kernels/npu|compiler/target/npu|runtime/devices/npu)/|blob/npu_")
            self.assert_tables(paths, name, word(name), exact=name == "softcap", besides=filter(npu.match, pages.tracked()))

    def test_cpu_ops(self):
        names = re.findall(r'"cpu\.(\w+)"', pages.read("blob/task_op.cc"))
        self.assertGreaterEqual(len(names), 11)
        for name in set(names) - {"copy"}:  # which has no arithmetic to describe
            self.assert_tables(table_paths(OPS, "A fast kernel"), name, word(name), exact=False)

    def test_npu_ops(self):
        names = re.findall(r'"(\w+)"', re.search(r"kShaveKernels = \{(.*?)\}", pages.read("blob/machine/machine.h"), re.S).group(1))
        self.assertGreaterEqual(len(names), 22)
        paths = table_paths(OPS, "On the npu")
        self.assertGreaterEqual(len(paths), 13)
        machines = [path for path in pages.tracked() if re.match(r"(compiler/target/npu/machines|fuzz/corpus/machine)/.*\.json$", path)]
        self.assertGreaterEqual(len(machines), 8)
        for name in names:
            self.assert_tables(paths, name, word(name), exact=False)
            self.assertRegex(pages.read("docs/npu.md"), rf"(?m)^\| `{name}` \|")
            for machine in machines:
                self.assertIn(f'"{name}"', pages.read(machine), machine)

    def test_devices(self):
        names = re.findall(r'KnownDevice\{"(\w+)"', pages.read("runtime/open_device.cc"))
        folders = {path.split("/")[2] for path in pages.matches("runtime/devices/")}
        self.assertEqual(set(names), folders)
        for name in names:
            pattern = rf"open{camel(name)}Backend|\b{name}_device\b"
            own = {f"runtime/devices/{name}/{name}_device.{end}" for end in ("h", "cc")}
            self.assertEqual(speakers(pattern), own | {"runtime/open_device.cc", "runtime/CMakeLists.txt"})
            self.assertIn(f'.device = "{name}"', pages.read("runtime/cts/device_cases.cc"))

    def test_targets(self):
        names = {path.split("/")[2] for path in pages.matches("compiler/target/") if path.count("/") > 2}
        self.assertGreaterEqual(names, {"cpu", "reference"})
        # A file may treat one target as special and the others alike, so any of them will do.
        any_target = "|".join(rf'"{name}"|k{camel(name)}\b|\b{name}Target|{name}/' for name in names)
        for name in names:
            self.assert_tables(table_paths(DEVICES), name, any_target, exact=False)


if __name__ == "__main__":
    unittest.main()
