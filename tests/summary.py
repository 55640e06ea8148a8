"""Reads JUnit files (of ctest and of pytest), prints why tests were skipped, and the line with which ./dev test ends.

    tests/summary.py ctest.xml pytest.xml

Exit status 1 when a test failed or no test ran. A file that is missing counts as no tests.
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree


def reason(case, skipped):
    """What the test said; ctest knows only that it was skipped, the text of GTEST_SKIP is in the output."""
    said = re.search(r": Skipped\n(.*)", case.findtext("system-out") or "")
    text = said[1] if said else skipped.get("message") or "no reason given"
    return text.removeprefix("skipped: ").strip()


def read(path):
    """Yields (name, "passed" | "failed" | "skipped", reason) for each test of a file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        name = case.get("name")
        if skipped is not None:
            yield name, "skipped", reason(case, skipped)
        elif case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            yield name, "failed", ""
        else:
            yield name, "passed", ""


def failed_once(path):
    """Names of the tests that ctest ran again because they had failed; its log has each run."""
    log = os.path.join(os.path.dirname(path), "Testing/Temporary/LastTest.log")
    if not os.path.exists(log):
        return set()
    with open(log, errors="replace") as f:
        return set(re.findall(r'^Test Failed\.\n"(.*)" end time: ', f.read(), re.MULTILINE))


def main(paths):
    paths = [path for path in paths if os.path.exists(path)]
    results = [result for path in paths for result in read(path)]
    reasons = {}
    for name, outcome, why in results:
        if outcome == "skipped":
            reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        shown = list(dict.fromkeys(name.split("[")[0] for name in names))
        print(f"skipped: {why}: {len(names)} ({', '.join(shown[:4])}{', ...' if len(shown) > 4 else ''})")
    repeated = set().union(*map(failed_once, paths))
    for name, outcome, _ in results:
        if outcome == "passed" and name in repeated:
            print(f"failed once, then passed: {name}")
        if outcome == "failed":
            print(f"failed: {name}")
    count = {kind: sum(outcome == kind for _, outcome, _ in results) for kind in ("passed", "failed", "skipped")}
    print(f"tests: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
