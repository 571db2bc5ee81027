"""What firn simulates for a row of rows.json on a machine file."""
import json
import pathlib
import subprocess

from published_npu import holed_gguf

SIZE_UNIT = 64  # lengths and contexts of a program are multiples of it
CHUNK = 1024    # of a prompt, at most


def rounded(rows):
    return -(-rows // SIZE_UNIT) * SIZE_UNIT


class Simulator:
    """Runs `firn` on the shapes of `models`, with files in `folder`."""

    def __init__(self, firn, models, folder):
        self.firn, self.models, self.folder = firn, models, pathlib.Path(folder)

    def _run(self, *words):
        done = subprocess.run([self.firn, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"fit_npu: {' '.join(map(str, words))} failed:\n{done.stderr}")
        return done.stdout

    def _simulate(self, model, weights, machine, compile_words, prompt, steps):
        """The numbers of firn simulate --json, of a program that is compiled with `compile_words`."""
        gguf = self.folder / f"{model}.{weights}.gguf"
        if not gguf.exists():
            holed_gguf.write(gguf, self.models[model], weights)
        blob = self.folder / "program.firn"
        self._run("compile", gguf, "-o", blob, "--device", "npu", "--machine", machine, "--weights", "none", "--quiet", *compile_words)
        return json.loads(self._run("simulate", blob, "--prompt", prompt, "--decode", steps, "--json"))

    def _decode(self, row, weights, machine, prompt):
        """Tokens a second of the steps behind a prompt, of a program whose context ends with the last of them."""
        context, most_prompt = rounded(prompt + row["steps"]), rounded(prompt)
        words = ["--max-prompt-len", most_prompt, "--min-response-len", max(SIZE_UNIT, context - most_prompt),
                 "--contexts", context, "--prefill-chunks", 16]
        return self._simulate(row["model"], weights, machine, words, prompt, row["steps"])["decode_tok_s"]

    def value(self, row, weights, machine):
        """Tokens a second; of a "ratio" those of its first prompt over those of the second."""
        if row["measure"] == "prefill":
            prompt = rounded(row["prompt"])
            contexts = ",".join(str(rows) for rows in (CHUNK, 2 * CHUNK, prompt) if rows <= prompt)
            words = ["--max-prompt-len", prompt, "--min-response-len", SIZE_UNIT, "--contexts", contexts,
                     "--prefill-chunks", min(CHUNK, prompt)]
            return self._simulate(row["model"], weights, machine, words, row["prompt"], 0)["prefill_tok_s"]
        speeds = [self._decode(row, weights, machine, prompt) for prompt in row.get("prompts", [row.get("prompt")])]
        return speeds[0] / speeds[1] if row["measure"] == "ratio" else speeds[0]
