"""The connection itself: a hook that puts the solution of an equation where a layer's output was.

Beside the paper's Algorithm 1: line 1 is `start`, lines 2 to 6 are the solver, line 7 the return.
"""

import inspect
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from holdfast.errors import RunFailed
from holdfast.implicit.layer_call import (
    LayerCall,
    RandomState,
    hidden_of,
    is_training,
    refuse_cache,
    with_hidden,
)
from holdfast.implicit.padding import real_tokens
from holdfast.implicit.readings import LayerReading, Tally
from holdfast.implicit.spec import Connection
from holdfast.solve import Solution
from holdfast.solve.recording import is_recording
from holdfast.solve.solution import at_least_float32


@dataclass(frozen=True)
class LayerMap:
    """g(x) = offset + weight * phi(x) on real tokens, zero on padding.

    So padding has no residual and adds nothing to a norm: no solver needs to know of masks, and
    none stops earlier because a sentence is padded.
    """

    phi: LayerCall
    offset: Tensor
    weight: float
    real: Tensor | None

    def __call__(self, point: Tensor) -> Tensor:
        """Return g(point)."""
        return self.masked(self.around(at_least_float32(self.phi(point))))

    def around(self, image: Tensor) -> Tensor:
        """Return offset + weight * image, for an image of phi."""
        return torch.add(self.offset, image, alpha=self.weight)

    def masked(self, states: Tensor) -> Tensor:
        """Return these states with the padding set to zero."""
        return states if self.real is None else torch.where(self.real, states, self._zero)

    @cached_property
    def _zero(self) -> Tensor:
        # made once: a bare number in `torch.where` is copied to the device at every evaluation
        return self.offset.new_zeros(())

    def narrow(self, rows: Tensor) -> "LayerMap | None":
        """Return the map of some examples alone, for a solver that has finished the others."""
        phi = self.phi.narrow(rows, len(self.offset))
        if phi is None:
            return None
        real = None if self.real is None else self.real[rows]
        return replace(self, phi=phi, offset=self.offset[rows], real=real)


class LayerHook:
    """Replaces the output of one layer by h', the solution of the scheme's equation."""

    def __init__(self, number: int, layer: nn.Module, connection: Connection) -> None:
        self.number = number
        self.connection = connection
        self.names = list(inspect.signature(layer.forward).parameters)
        self.tally = Tally()
        self.randomness: RandomState | None = None
        self.warned = False

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note where the layer's dropout masks begin (a forward pre-hook)."""
        frozen = is_training(module) and self.connection.dropout == "frozen"
        self.randomness = RandomState.now(self._hidden(args, kwargs).device) if frozen else None

    def __call__(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        """Return the output with h' in place of phi(h)."""
        h, image, scheme = self._hidden(args, kwargs), hidden_of(output), self.connection.scheme
        if scheme.weight == 0.0:  # h' stands alone: nothing to solve
            return with_hidden(output, scheme.equation(h, image)[0])
        arguments = {**dict(zip(self.names, args, strict=False)), **kwargs}
        refuse_cache(arguments)
        solved = self._solve(module, arguments, h, image)
        return with_hidden(output, solved.to(image.dtype))

    def _hidden(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Tensor:
        hidden: Tensor = args[0] if args else kwargs[self.names[0]]
        return hidden

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _solve(
        self, module: nn.Module, arguments: Mapping[str, Any], h: Tensor, image: Tensor
    ) -> Tensor:
        device = h.device.type
        phi = self._call(module, arguments, h)
        draws = is_training(module) and self.connection.dropout != "off" and not is_recording()
        after = RandomState.now(h.device) if draws else None
        with torch.autocast(device, enabled=False):
            solution = self._solution(phi, at_least_float32(h), at_least_float32(image))
        if after is not None:  # what follows draws as if the layer had run once
            after.restore()
        self._note(solution)
        return solution.value

    def _call(self, module: nn.Module, arguments: Mapping[str, Any], h: Tensor) -> LayerCall:
        device = h.device.type
        casting = torch.is_autocast_enabled(device)
        return LayerCall(
            module=module,
            arguments=arguments,
            hidden_name=self.names[0],
            dtype=h.dtype,
            autocast=torch.get_autocast_dtype(device) if casting else None,
            randomness=self.randomness,
            without_dropout=self.connection.dropout == "off",
        )

    def _solution(self, phi: LayerCall, h: Tensor, image: Tensor) -> Solution:
        offset, weight = self.connection.scheme.equation(h, image)
        g = LayerMap(phi, offset, weight, real_tokens(phi.arguments, h))
        whole = g.around(image)
        start = g.masked(whole)
        # g(h) has been computed by the layer's own call: a pair the solver need not pay for
        known = (g.masked(h), start)
        solution = self.connection.gradient(self.connection.solver, g, start, known)
        if g.real is None:
            return solution
        # nothing real depends on padding: without its derivative the first call's graph is freed
        return replace(solution, value=torch.where(g.real, solution.value, whole.detach()))

    def _note(self, solution: Solution) -> None:
        if is_recording():  # what is noted now would be read when it is played
            return
        self.tally.add(solution)
        policy = self.connection.on_failure
        if policy == "keep" or (policy == "warn" and self.warned):
            return
        if bool(solution.converged.all()):
            return
        message = self._complaint(float(solution.residual.max()))
        if policy == "raise":
            raise RunFailed(message)
        self.warned = True
        warnings.warn(message, stacklevel=2)

    def _complaint(self, residual: float) -> str:
        if not math.isfinite(residual):
            return (
                f"Layer {self.number} returned numbers that are not finite; look at the weights, "
                "the learning rate and the precision."
            )
        return (
            f"Layer {self.number} was left at a relative residual of {residual:.4f} by "
            f"{self.connection.solver}; allow more steps, a larger tolerance, or another solver."
        )

    def reading(self) -> LayerReading:
        """Return what the calls of this layer reached."""
        return self.tally.reading(self.number)
