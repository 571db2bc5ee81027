"""docs/npu_published.md and the machine files of it agree with scripts/published_npu/rows.json, and what scripts/fit_npu.py
computes with is right. What is simulated now: the slow test published_npu_speeds. usage: published_speeds.py, from the root of the tree"""
import sys
import unittest

sys.path.insert(0, "scripts")
import fit_npu  # noqa: E402
from published_npu import least_squares, table  # noqa: E402


class Page(unittest.TestCase):
    def test_has_every_row_as_the_script_writes_it(self):
        told = table.simulated_on_page(fit_npu.ROWS)
        self.assertNotIn(None, told)
        self.assertEqual(list(fit_npu.stale_of(told)), [])

    def test_keeps_what_it_promises(self):
        told = table.simulated_on_page(fit_npu.ROWS)
        self.assertEqual(list(fit_npu.problems_of(told)), [])

    def test_only_fit_rows_come_out_exactly_by_making(self):
        for row, value in zip(fit_npu.ROWS, table.simulated_on_page(fit_npu.ROWS)):
            if row["use"] == "fit":
                self.assertLess(abs(table.error(row, value)), 0.002, row)

    def test_a_figure_that_is_off_is_found(self):
        told = table.simulated_on_page(fit_npu.ROWS)
        for i, row in enumerate(fit_npu.ROWS):
            changed = [*told[:i], table.number(0.9 * min(row["published"], float(told[i]))), *told[i + 1:]]
            self.assertTrue(list(fit_npu.stale_of(changed)), row)
            self.assertEqual(bool(list(fit_npu.problems_of(changed))), row["use"] == "bound", row)


class LeastSquares(unittest.TestCase):
    def fit(self, calls, gigabytes, measured):
        def times(constants):
            return [c * constants["start"] + g / constants["rate"] for c, g in zip(calls, gigabytes)]

        return least_squares.fit(times, {"rate": 64.0, "start": 1e-4}, measured, lambda constants, errors: None)

    def test_two_times_give_two_constants(self):
        measured = [50 * 7e-5 + 0.8 / 33, 98 * 7e-5 + 5.1 / 33]
        found = self.fit([50, 98], [0.8, 5.1], measured)
        self.assertAlmostEqual(found["rate"], 33, delta=0.02)
        self.assertAlmostEqual(found["start"], 7e-5, delta=5e-7)

    def test_of_more_times_errors_are_evened_out(self):
        exact = [c * 7e-5 + g / 33 for c, g in zip([50, 98, 80, 80], [0.8, 5.1, 2, 2])]
        found = self.fit([50, 98, 80, 80], [0.8, 5.1, 2, 2], [*exact[:2], exact[2] * 1.01, exact[3] * 0.99])
        self.assertAlmostEqual(found["rate"], 33, delta=0.1)


if __name__ == "__main__":
    unittest.main()
