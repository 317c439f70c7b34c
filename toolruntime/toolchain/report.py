# Runs tests as python -m unittest does, and writes what came of each as a line of JSON to the file that is named first.
import json
import os
import sys
import traceback
import unittest

report = open(sys.argv[1], "w", encoding="utf-8", errors="backslashreplace")
tree = os.getcwd()
sys.path[0] = tree
sys.argv = ["python -m unittest", *sys.argv[2:]]


def place(error):
    """The deepest line of the tree in a traceback."""
    found = ("", 0)
    for frame, line in traceback.walk_tb(error[2]):
        file = os.path.abspath(frame.f_code.co_filename)
        if file.startswith(tree + os.sep):
            found = (os.path.relpath(file, tree), line)
    return found


class Result(unittest.TextTestResult):
    def tell(self, test, verdict, error=None):
        test = getattr(test, "test_case", test)  # of a subtest
        line = {"name": getattr(test, "_testMethodName", "") or str(test), "verdict": verdict}
        if error:
            line["message"] = "".join(traceback.format_exception_only(*error[:2])).strip()
            line["path"], line["line"] = place(error)
        report.write(json.dumps(line) + "\n")
        report.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test, "pass")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.tell(test, "pass")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, "skip")

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, "fail", err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, "fail", err)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.tell(test, "fail", (AssertionError, AssertionError("it passes, and is marked as an expected failure"), None))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.tell(test, "fail", err)


class Runner(unittest.TextTestRunner):
    resultclass = Result


unittest.main(module=None, testRunner=Runner)
