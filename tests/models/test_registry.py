"""Every name of the table of regressors is a class with the contract of scikit-learn, and the names of files are among them."""

from __future__ import annotations

import pytest
from sklearn.base import BaseEstimator, clone

import mlperf.models
from mlperf.core.errors import UsageError
from mlperf.models.estimators.choice.family import MEMBERS, Member, Question
from mlperf.models.registry import REGRESSORS, STORED, load_class, make_regressor
from mlperf.models.storage.store import KINDS

ASKED = Question(("m",), ("log(m)",), ("m",), ("m",), 3)


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_name_is_a_public_regressor(name: str) -> None:
    owner = load_class(REGRESSORS[name])
    # The lattice of products is asked by sizes, not by rows.
    assert issubclass(owner, BaseEstimator) or name == "grid_local"
    assert getattr(mlperf.models, owner.__name__) is owner
    assert callable(owner.fit)
    assert callable(owner.predict)


@pytest.mark.parametrize("name", STORED)
def test_every_stored_one_reads_and_writes_itself(name: str) -> None:
    owner = load_class(STORED[name])
    assert callable(owner.to_dict)
    assert callable(owner.from_dict)
    assert KINDS[name] == STORED[name]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_every_member_of_the_family_is_made_from_the_table(member: Member) -> None:
    made = member.make(ASKED)
    assert type(made) in {load_class(home) for home in REGRESSORS.values()}
    assert type(clone(made)) is type(made)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="expected one of") as caught:
        make_regressor("nonegative")
    assert "nonnegative" in str(caught.value.hint)
