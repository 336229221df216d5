"""Which packages a wheel has: `berth`, and the components under a name that no other project has.

In a checkout the components are the folder `components`; installed, they are `berth_components`. pyproject.toml has the
rest.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["berth", "berth.*"]),
        "berth_components",
        *(f"berth_components.{each}" for each in find_packages("components")),
    ],
    package_dir={"berth_components": "components"},
)
