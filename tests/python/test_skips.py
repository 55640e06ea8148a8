"""What conftest.py takes for a reason to skip in a build without LLVM."""

import conftest
import pytest

import tensorwright as tw


def test_only_what_the_build_lacks_is_a_reason():
    lacking = conftest.REFUSALS
    assert conftest.reason(tw.TargetError("llvm is not part of this build"), lacking).startswith("built without LLVM")
    assert conftest.reason(tw.TuneError("tuning measures compiled kernels; the target must be of kind llvm, not c"), lacking)
    assert conftest.reason(tw.TargetError("llvm: unknown CPU"), lacking) is None and conftest.reason(None, lacking) is None
    with pytest.raises(AssertionError) as error:
        try:
            raise tw.TargetError("llvm is not part of this build")
        except tw.TargetError:
            raise AssertionError("another error expected")
    assert conftest.reason(error.value, lacking) and conftest.reason(error.value, ()) is None


def test_a_build_with_llvm_skips_nothing():
    assert (conftest.LACKING == ()) == (tw.Target.host().kind == "llvm")
