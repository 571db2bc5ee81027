"""Machine files with fitted values: the text of a built-in one, in which a few values are others."""
import json
import pathlib
import re

FOLDER = pathlib.Path("compiler/target/npu/machines")


def path_of(chip):
    return FOLDER / f"{chip}.published.json"


def _replaced(text, section, key, value):
    """`section` is "" or an object without objects in it."""
    before = rf'"{section}": \{{[^{{}}]*?"{key}": ' if section else rf'\A\{{\s*(?:"\w+": "[^"]*",\s*)*?"{key}": '
    changed, count = re.subn(rf'({before})("[^"]*"|\d+)', lambda match: match[1] + json.dumps(value, ensure_ascii=False), text)
    if count != 1:
        raise SystemExit(f"fit_npu: found {count} values '{section}.{key}' in a machine file, expected one")
    return changed


def text_of(chip, stands_for, constants):
    """The machine file of `chip` with `constants`, {"section.key": number}, fitted to speeds of `stands_for`."""
    text = (FOLDER / f"{chip}.json").read_text()
    text = _replaced(text, "", "name", f"{chip}.published")
    text = _replaced(text, "", "source", f"{chip}.json with what scripts/fit_npu.py fitted to published speeds of the {stands_for}, for "
                     "docs/npu_published.md. These values hold what a host and a driver do between two tokens, too: no machine to plan with.")
    for path, value in constants.items():
        section, key = path.split(".")
        text = _replaced(text, section, "source", "Fitted by scripts/fit_npu.py to published speeds; docs/npu_published.md has them.")
        text = _replaced(text, section, key, value)
    return text


def constants_of(chip, paths):
    """The values of `paths` in the published file of `chip`."""
    machine = json.loads(path_of(chip).read_text())
    return {path: machine[path.split(".")[0]][path.split(".")[1]] for path in paths}


def built_in_of(chip, paths):
    machine = json.loads((FOLDER / f"{chip}.json").read_text())
    return {path: machine[path.split(".")[0]][path.split(".")[1]] for path in paths}
