"""The second catalogue: its hosts are sound, most of its faults do harm, and each says what it amounts to."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.errors import MissingCapability
from workbench.judging.faults.second import CASES, CAUSES, FAULTS, HOSTS
from workbench.judging.faults.second.contract import HINGE_RISK, LOGISTIC_RISK, SQUARED_RISK
from workbench.judging.faults.second.examples import example
from workbench.judging.faults.second.measure import excess, installed, measured
from workbench.judging.faults.second.tensors import HEADS, gathered, layout_of, mean_slope

# The hinge and the logistic loss of linear scores have two names each; equal programs are run once.
ONCE = [case for case in CASES if case not in (HINGE_RISK, LOGISTIC_RISK)]
PAIRS = [(host, case) for host in HOSTS for case in host.applies if case in ONCE]
SOUND = 1e-4
# On the small data these do less harm than the definition wants, or little more.
SLIGHT = {
    *("adam-last-sample", "adam-length-one", "adam-ends", "adam-growing-decay", "adam-half-weights", "adam-bfloat16"),
    *("adam-signs", "adam-no-memory", "svc-unit-weights", "logistic-digits", "ridge-alpha", "l-bfgs-slope"),
    *("adam-decay-twice", "adam-decay-off", "adam-no-schedule", "adam-early-mean", "adam-drop-last"),
    *("dual-rare", "dual-after-forty", "dual-last-sample"),
}


def words(value):
    return getattr(value, "name", None) or "-".join(filter(None, value))


@pytest.mark.parametrize(("host", "case"), PAIRS, ids=words)
def test_a_host_reaches_the_optimum_within_its_passes(host, case):
    if not installed(host):
        pytest.skip(f"{host.needs} is not installed")
    assert -1e-8 <= excess(host.fit, case, host.passes) <= SOUND


@pytest.mark.parametrize("host", [host for host in HOSTS if not host.needs], ids=words)
def test_hosts_honour_sample_weights(host):
    assert -1e-8 <= excess(host.fit, host.applies[-1], host.passes, weighted=True) <= SOUND


@pytest.mark.parametrize("host", HOSTS, ids=words)
def test_a_host_refuses_what_it_is_not_made_for(host):
    for case in set(CASES) - set(host.applies):
        if installed(host):
            with pytest.raises(MissingCapability):
                host.fit(*example(case), 1, 0)


def test_most_faults_do_harm():
    """At least five in six, those aside whose package is missing, and all but the ones known to be slight."""
    here = [fault for fault in FAULTS if installed(fault)]
    harmless = {fault.name for fault in here if not measured(fault).harmful}
    assert len(here) - len(harmless) >= max(50, 5 * len(here) // 6)
    assert harmless <= SLIGHT


def test_the_table_of_faults_is_complete():
    names = [entry.name for entry in (*FAULTS, *HOSTS)]
    assert len(set(names)) == len(names)
    assert len(FAULTS) >= 60
    assert set(names) >= SLIGHT
    for fault in FAULTS:
        assert fault.host in HOSTS, fault.name
        assert fault.applies, fault.name
        assert set(fault.applies) <= set(fault.host.applies), fault.name
        assert fault.amounts_to, fault.name
        assert fault.sentence.endswith("."), fault.name
        assert fault.fit != fault.host.fit, fault.name
    assert {cause for fault in FAULTS for cause in fault.amounts_to} == set(CAUSES)


@pytest.mark.parametrize("case", ONCE, ids=words)
def test_slopes_are_derivatives_of_the_values(case):
    """Central differences of the mean term, at weights where no hinge is at a kink."""
    problem, formulation = example(case, seed=3, n=7, weighted=True)
    batch, layout, rng = gathered(problem, formulation, float), layout_of(problem), np.random.default_rng(5)
    head = HEADS["squared" if case == SQUARED_RISK else "likelihood" if case in ONCE[3:6] else "hinge"]
    w, direction = rng.normal(size=layout.dim), rng.normal(size=layout.dim)
    slope, _ = mean_slope(layout, batch, w, head)
    ahead, behind = (mean_slope(layout, batch, w + step * direction, head)[1] for step in (1e-6, -1e-6))
    assert slope @ direction == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)
