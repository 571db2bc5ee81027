"""Gauss-Newton: the constants for which times come nearest to measured ones, relative to these."""

STEP = 0.02       # of a constant, for its derivative
TOLERANCE = 2e-4  # of every time, where there are as many constants as times
MOST_ROUNDS = 12


def solved(matrix, right):
    """x of matrix x = right, by elimination with pivots."""
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(size):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def fit(times, start, measured, report):
    """Constants, {name: value}, for which times(constants), a list, is nearest to `measured`, from `start` on.

    Errors are relative. `report` is called with the constants and errors of each round.
    """
    names, values = list(start), list(start.values())
    for _ in range(MOST_ROUNDS):
        now = times(dict(zip(names, values)))
        errors = [t / m - 1 for t, m in zip(now, measured)]
        report(dict(zip(names, values)), errors)
        if len(errors) == len(values) and max(map(abs, errors)) < TOLERANCE:
            break
        slopes = []
        for i, value in enumerate(values):
            moved = times({name: v * (1 + STEP * (i == j)) for j, (name, v) in enumerate(zip(names, values))})
            slopes.append([(b - a) / m / (value * STEP) for a, b, m in zip(now, moved, measured)])
        normal = [[sum(a * b for a, b in zip(x, y)) for y in slopes] for x in slopes]
        step = solved(normal, [-sum(a * e for a, e in zip(x, errors)) for x in slopes])
        # A constant stays positive, and no round trusts its slopes beyond a factor of two.
        values = [min(max(v + d, v / 2), v * 2) for v, d in zip(values, step)]
        if max(abs(d / v) for d, v in zip(step, values)) < TOLERANCE / 10:
            break
    else:
        raise SystemExit(f"fit_npu: no constants found in {MOST_ROUNDS} rounds, the errors are {errors}")
    return dict(zip(names, values))
