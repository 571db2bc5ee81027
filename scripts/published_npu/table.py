"""What docs/npu_published.md says between its two marks: constants and rows, as text and back."""
import pathlib
import re

PAGE = pathlib.Path("docs/npu_published.md")
BEGIN, END = "<!-- written by scripts/fit_npu.py -->\n", "<!-- end of what scripts/fit_npu.py wrote -->\n"


def number(value):
    """Four digits: what is compared and what errors are computed from."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def _what(row):
    if row["measure"] == "prefill":
        return f"prefill of {row['prompt']}, tokens/s"
    if row["measure"] == "ratio":
        ends = [prompt + row["steps"] for prompt in row["prompts"]]
        return f"decode with {ends[0]} rows over {ends[1]} rows"
    return f"decode up to {row['prompt'] + row['steps']} rows, tokens/s"


def head(row):
    """The cells that tell which row it is."""
    return f"| {row['use']} | `{row['chip']}` | {row['model']} | {_what(row)} | {row['published']} |"


def error(row, simulated):
    return float(simulated) / row["published"] - 1


def verdict(row, simulated):
    if row["use"] == "bound":
        return f"{float(simulated) / row['published']:.2f} x"
    return f"{round(100 * error(row, simulated), 1) + 0:+.1f} %"  # + 0: no -0.0


def mean_error(rows, simulated):
    errors = [abs(error(row, value)) for row, value in zip(rows, simulated) if row["use"] == "check"]
    return sum(errors) / len(errors)


def text_of(rows, constants, built_in, simulated):
    """`constants` and `built_in`: {chip: {path: number}}; `simulated`: texts by number()."""
    lines = ["| chip | constant | built in | fitted |", "|---|---|---|---|"]
    lines += [f"| `{chip}` | `{path}` | {built_in[chip][path]} | {value} |" for chip, of in constants.items() for path, value in of.items()]
    lines += ["", "| use | chip | model | what | published | simulated | error, or simulated over published |", "|---|---|---|---|---|---|---|"]
    lines += [f"{head(row)} {value} | {verdict(row, value)} |" for row, value in zip(rows, simulated)]
    lines += ["", f"The mean error of the *check* rows is {100 * mean_error(rows, simulated):.1f} %."]
    return "\n".join(lines) + "\n"


def on_page():
    before, found, rest = PAGE.read_text().partition(BEGIN)
    text, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"fit_npu: {PAGE} lacks one of the lines\n{BEGIN}{END}between which the tables stand")
    return before + BEGIN, text, END + after


def write(text):
    before, _, after = on_page()
    PAGE.write_text(before + text + after)


def simulated_on_page(rows):
    """The simulated column, texts; None for a row that the page lacks."""
    _, text, _ = on_page()
    found = [re.search(re.escape(head(row)) + r" ([\d.]+) \|", text) for row in rows]
    return [match and match[1] for match in found]
