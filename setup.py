"""Builds the one extension, smmux._core, from csrc/."""

from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "smmux._core",
            sorted(glob("csrc/*.c")),
            depends=sorted(glob("csrc/*.[h]") + glob("csrc/*.def")),
            extra_compile_args=["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-pthread", "-Wall", "-Wextra"],
            extra_link_args=["-pthread"],
        )
    ]
)
