"""An installation serves other CMake projects: ``cmake --install``, and the Debian package of cpack."""

import re
import shutil

import installed
import pytest
from installed import run

import tensorwright as tw

pytestmark = pytest.mark.skipif(bool(installed.why_not()), reason=installed.why_not() or "-")

LISTS = """
cmake_minimum_required(VERSION 3.22)
project(product CXX)
find_package(Tensorwright 0.1 REQUIRED)
add_executable(product matmul.cc)
target_link_libraries(product PRIVATE Tensorwright::tensorwright)
"""
ONLY_TW = """
cmake_minimum_required(VERSION 3.22)
project(product NONE)
find_package(Tensorwright 0.1 REQUIRED)
add_custom_target(product ALL COMMAND Tensorwright::tw --version)
"""


def configure(folder, text, prefix, generator="Ninja"):
    folder.mkdir(exist_ok=True)
    (folder / "CMakeLists.txt").write_text(text)
    run("cmake", "-S", folder, "-B", folder / "build", "-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", env=installed.environment())


@pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM")
def test_a_program_is_built_and_tunes(installation, tmp_path):
    product = tmp_path / "a prodüct"
    product.mkdir()
    shutil.copy(installed.ROOT / "examples/matmul.cc", product)
    configure(product, LISTS, installation)
    run("cmake", "--build", product / "build", env=installed.environment())
    assert "tuned" in run(product / "build/product", 65, 97, 130, 8, env=installed.environment())


def test_make_and_a_project_without_a_compiler(installation, tmp_path):
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    configure(tmp_path / "a prodüct", ONLY_TW, installation, "Unix Makefiles")
    assert "tw 0." in run("cmake", "--build", tmp_path / "a prodüct/build", env=installed.environment())


def test_another_minor_release_is_not_taken(installation, tmp_path):
    with pytest.raises(AssertionError, match='compatible with requested version "0.2"'):
        configure(tmp_path / "product", ONLY_TW.replace("0.1", "0.2"), installation)


def test_the_installed_program_finds_its_workers(installation):
    boards = {path.name for path in (installed.BUILD / "package/tensorwright/boards").iterdir()}
    assert boards == {path.name for path in (installation / "lib/tensorwright/boards").iterdir()}
    assert f"{installation}/lib/tensorwright/tw-worker" in run(installation / "bin/tw", "doctor", "--json", env=installed.environment())


@pytest.mark.skipif(not shutil.which("dpkg-shlibdeps"), reason="dpkg-dev is not installed")
def test_the_debian_package(tmp_path):
    run("cpack", "-G", "DEB", "--config", installed.BUILD / "CPackConfig.cmake", "-B", tmp_path, env=installed.environment())
    (package,) = tmp_path.glob("tensorwright_0.*.deb")
    depends = run("dpkg-deb", "--field", package, "Depends")
    assert re.search(r"\blibc6 \(>= 2\.", depends) and re.search(r"\blibssl3", depends)
    run("dpkg-deb", "--extract", package, tmp_path / "root")
    assert "tw 0." in run(tmp_path / "root/usr/bin/tw", "--version", env=installed.environment())
    files = {str(path.relative_to(tmp_path / "root/usr")) for path in (tmp_path / "root/usr").rglob("*")}
    wanted = {"lib/libtensorwright.so", "lib/libtensorwright.so.0.1", "lib/tensorwright/tw-worker", "include/tensorwright/te.h",
              "lib/cmake/Tensorwright/TensorwrightConfig.cmake", "share/doc/tensorwright/THIRD_PARTY.md"}
    assert wanted <= files
    assert not [name for name in files if "test" in name or "bench" in name]
