"""Connections with a name, as values: print one, compare it, or `dataclasses.replace` a field."""

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.implicit.spec import Connection, Explicit, ImplicitEuler, Theta
from holdfast.solve import Anderson, Descent, Detached, Phantom

bert: Connection | None = None
"""No connection: the model as it is."""

ex_bert = Connection(scheme=Explicit())
"""EX-BERT: a residual connection around every layer."""

im_bert = Connection(
    scheme=ImplicitEuler(),
    solver=Descent(steps=5, step_size=0.1, norm="squared_sum"),
    gradient=Detached(),
    on_failure="keep",
)
"""IM-BERT as printed: five descent steps of 0.1 on the squared sum, backward along the explicit
path. The residual is not expected to be small, so nothing is said when it is not."""

recommended = Connection(scheme=Theta(theta=0.5), solver=Anderson(), gradient=Phantom())
"""Ours: the increment form, which keeps what pre-training knew, solved to one per cent."""

PRESETS: Mapping[str, Connection | None] = MappingProxyType(
    {"bert": bert, "ex_bert": ex_bert, "im_bert": im_bert, "recommended": recommended}
)
