"""Tables 3 and 4 of the SPRINT paper as data: where a component's name, its terms and its estimator meet."""

# ruff: noqa: E501 - the tables of the paper are read row by row
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Component:
    """One row of Table 3 (GPU thread) or Table 4 (update thread).

    Attributes
    ----------
    name : str
        The component; ``f"{name}_s"`` is its column, seconds.
    activity : str
        The periodic thread it belongs to: ``"gpu"`` or ``"update"``.
    kind : str
        ``work``, ``critical`` (holds ``lock``), ``collective`` or ``coupling`` (a wait, computed and never fitted).
    lock : str or None
        ``"weights"`` or ``"gradient"``.
    paper : tuple of str
        Regressors of the paper, beside the constant.
    candidates : tuple of str
        Further terms offered to stepwise selection. ``params_share`` is n_params / n_nodes (a node's part of the
        momentum), ``image_elements`` the values of the sub-batch's images,
        ``n_buffers_added`` the buffers of one sum, ``barrier_buffers`` how many more the slowest node adds than the
        first (eq. 8).
    per_occurrence : bool
        The response is the time of one occurrence, not the mean over iterations.
    """

    name: str
    activity: str
    kind: str
    lock: str | None
    paper: tuple[str, ...]
    candidates: tuple[str, ...]
    per_occurrence: bool = False

    @property
    def column(self) -> str:
        """Column of the measurement tables, seconds."""
        return f"{self.name}_s"

    @property
    def terms(self) -> tuple[str, ...]:
        """Every term offered to the selection: the paper's first, so that it wins ties."""
        return self.paper + self.candidates


# fmt: off
COMPONENTS = (
    #          name                    activity  kind          lock        paper's terms                      candidates
    Component("lock_weights_gpu",     "gpu",    "coupling",   "weights",  (),                                ()),
    Component("fetch_weights",        "gpu",    "critical",   "weights",  ("n_params",),                     ("n_gpus_per_node * n_params",), per_occurrence=True),
    Component("load_image",           "gpu",    "work",       None,       ("subbatch_size",),                ("image_elements", "n_gpus_per_node * subbatch_size")),
    Component("deform_image",         "gpu",    "work",       None,       ("subbatch_size",),                ("image_elements",)),
    Component("compute_gradient",     "gpu",    "work",       None,       ("kernels_s",),                    ()),
    Component("compute_update_value", "gpu",    "work",       None,       ("n_params",),                     ()),
    Component("lock_gradient_gpu",    "gpu",    "coupling",   "gradient", (),                                ()),
    Component("update_gradient",      "gpu",    "critical",   "gradient", ("n_params",),                     ("n_gpus_per_node * n_params",)),
    Component("lock_gradient_update", "update", "coupling",   "gradient", (),                                ()),
    Component("sum_gradient",         "update", "critical",   "gradient", ("n_params",),                     ("n_params / n_buffers_added",), per_occurrence=True),
    Component("update_old_weights",   "update", "work",       None,       ("params_share",),                 ()),
    Component("add_momentum",         "update", "work",       None,       ("params_share",),                 ()),
    Component("allreduce",            "update", "collective", None,       ("n_params * barrier_buffers", "n_params * log2(n_nodes)", "n_params"), ("log2(n_nodes)", "n_params * (n_nodes - 1) / n_nodes")),
    Component("update_momentum",      "update", "work",       None,       ("params_share",),                 ()),
    Component("lock_weights_update",  "update", "coupling",   "weights",  (),                                ()),
    Component("update_weights",       "update", "critical",   "weights",  ("n_params",),                     ()),
)
# fmt: on

BY_NAME = {component.name: component for component in COMPONENTS}
FITTED = tuple(component for component in COMPONENTS if component.kind != "coupling")
COMPONENT_NAMES = tuple(BY_NAME)
LOCK_WAITS = tuple(component.name for component in COMPONENTS if component.kind == "coupling")
GPU_PARTS = tuple(component.name for component in COMPONENTS if component.activity == "gpu")
UPDATE_PARTS = tuple(component.name for component in COMPONENTS if component.activity == "update")
IMAGE_OPERATIONS = tuple(component.name for component in COMPONENTS if component.paper == ("subbatch_size",))
VECTOR_OPERATIONS = tuple(component.name for component in COMPONENTS if component.paper == ("n_params",))
SHARE_OPERATIONS = tuple(component.name for component in COMPONENTS if component.paper == ("params_share",))
"""Lines 15, 16 and 18 of Algorithm 2: each node does them on its share of the parameters."""
OF_PASSES = (*SHARE_OPERATIONS, "optimizer", "apply")
"""Where these are assumed, it is from measured passes over vectors (of another optimizer, or on a device), not from a network."""
