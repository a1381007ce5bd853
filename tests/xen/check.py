"""What the checks of tests/xen/checks share. run.sh passes to it the scenario's results, the
unpacked packages, the built commands."""
import os
import sys

import strata_report

out, root, bin = sys.argv[1:4]
strata = strata_report.Strata(bin)
xenalyze = os.path.join(root, "usr/bin/xenalyze")
failed = 0


def result(name):
    """The path of a file that the scenario left."""
    return os.path.join(out, name)


def text(name):
    with open(result(name), errors="replace") as file:
        return file.read()


def expect(what, true, *seen):
    global failed
    if true:
        print(f"ok      {what}", *seen)
    else:
        failed += 1
        print(f"FAILED  {what}", *seen)


def equal(what, got, wanted):
    expect(what, got == wanted, *([] if got == wanted else [f": {got!r}, not {wanted!r}"]))


def attempt(what, function, *arguments, **named):
    """Calls it; a ValueError is a failure of the check. Returns what it returns, or None."""
    try:
        returned = function(*arguments, **named)
    except (ValueError, OSError, KeyError) as error:
        expect(what, False, f": {type(error).__name__} {error}")
        return None
    expect(what, True)
    return returned


def done():
    sys.exit(1 if failed else 0)


# Where the scenario itself went wrong there is nothing to look at.
for line in text("serial.log").splitlines():
    if line.startswith("@@") and "FAILED" in line:
        expect("the scenario", False, line)
if failed:
    done()
