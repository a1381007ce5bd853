"""Numbers that several verbs print, compared with the truth."""

from truth import Difference


def require(condition, what, *values):
    if not condition:
        raise Difference(f"{what}: {', '.join(str(v) for v in values)}")


def contains(what, known, unknown, true, *values):
    """What is known is a part of the truth, and with what is unknown it is all of it. None: nothing is known."""
    known = known or 0
    slack = 2 + true * 1e-6
    require(known <= true + slack, f"{what}: {known} is more than the true {true}", *values)
    require(known + unknown >= true - slack, f"{what}: {known} + {unknown} unknown is less than the true {true}", *values)


def is_percentile(value, durations, percent):
    """Within 1.6 % of one that so many durations do not exceed."""
    ordered = sorted(durations)
    i = len(ordered) * percent / 100
    low, high = ordered[max(0, int(i) - 1)], ordered[min(len(ordered) - 1, int(i) + 1)]
    return low * 0.984 - 2 <= value <= high * 1.016 + 2


def check_row(what, row, spans, slack=2):
    """The columns that all analyses of durations have, of the spans that are in it: [begin, end]."""
    durations = [end - begin for begin, end in spans]
    require(row["n"] == len(spans), f"{what}: n {row['n']}, and {len(spans)} spans")
    if not spans:
        return
    # Ticks of a clock are rounded to nanoseconds.
    require(abs(row["sum"] - sum(durations)) <= slack * len(spans), f"{what}: sum {row['sum']}, not {sum(durations)}")
    require(abs(row["min"] - min(durations)) <= slack and abs(row["max"] - max(durations)) <= slack, f"{what}: min, max", row)
    require(abs(row["mean"] - sum(durations) / len(spans)) <= slack, f"{what}: mean", row)
    for percent in 50, 90, 99:
        require(is_percentile(row[f"p{percent}"], durations, percent), f"{what}: p{percent}", row, sorted(durations)[:200])
    if row["covered"]:
        require(abs(row["rate"] - len(spans) * 1e9 / row["covered"]) <= 1e-4 * row["rate"], f"{what}: rate", row)
        require(abs(row["share"] - sum(durations) / row["covered"]) <= 1e-4 * row["share"] + 1e-6, f"{what}: share", row)


def check_fates(what, result, n, n_begins, n_ends):
    """Each begin is in one span, complete or not."""
    fates = result["unpaired"]
    begun = sum(v for k, v in fates.items() if k not in ("no_begin", "unkeyed"))
    # Of those without keys, it is not known which are begins.
    require(n + begun <= n_begins <= n + begun + fates["unkeyed"], f"{what}: {n} spans and {begun} not complete, of {n_begins} begins", fates)
    require(n + fates["no_begin"] <= n_ends, f"{what}: {n} spans and {fates['no_begin']} ends without begin, of {n_ends} ends")
