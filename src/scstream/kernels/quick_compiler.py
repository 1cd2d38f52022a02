"""How numba compiles our kernels in half of its usual time.

Numba optimises every function that kernels call, makes machine code of it, and then does both again
in each kernel. Here that is done in the kernels alone. It also looks up again and again what an
operator does to given types, notes where variables end, and prepares for closures, literals and
expressions of whole arrays, which our kernels do not have.

This reaches into numba, so it is for the versions it was tried with. With others all is compiled in
numba's own way, to the same code.
"""

from __future__ import annotations

import operator
from importlib import import_module
from typing import Any, ClassVar

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import signature

from scstream.kernels.quick_context import QuickContext, is_other_view
from scstream.kernels.quick_lowering import QuickLowering

_dynfunc: Any = import_module("numba._dynfunc")
APPLIES = numba.__version__.split(".")[:2] == ["0", "68"]

_WRAPPER = "_ZN7cpython"  # how the names begin of what takes arguments from Python, once a call
INSTEAD: dict[Any, Any] = {}  # what numba's own versions take long to compile

_NOT_NEEDED = {
    "LiteralPropagation",
    "annotate_types",
    "dead_branch_prune",
    "find_literally",
    "inline_closure_likes",
    "inline_overloads",
    "ir_legalization",
    "literal_unroll",
    "make_function_op_code_to_jit_function",
    "nopython_rewrites",
    "nopython_supported_feature_validation",
    "rewrite_semantic_constants",
    "with_lifting",
}


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel and its parts: optimised once, after they were put together."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options

        for function in self._final_module.functions:
            if function.name.startswith(_WRAPPER) and not function.is_declaration:
                for as_it_stands in ("noinline", "optnone"):
                    function.add_function_attribute(as_it_stands)
        how = create_pipeline_tuning_options(speed_level=2)
        how.loop_vectorization, how.slp_vectorization, how.loop_unrolling = True, False, False
        builder = create_pass_builder(self._codegen._tm, how)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)

    def finalize(self) -> None:
        """Put the kernel and its parts together, each part once."""
        self._linking_libraries = _with_parts(self._linking_libraries)
        super().finalize()  # type: ignore[no-untyped-call]


class _PartLibrary(_KernelLibrary):
    """The code of a part, which is left as it is until a kernel has need of it."""

    def finalize(self) -> None:
        """Leave it to the kernel to link the parts of this part."""
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


def _with_parts(libraries: list[Any]) -> list[Any]:
    """Return libraries and those that their parts have need of, each of them once."""
    found: dict[Any, None] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop(0)
        if library not in found:
            found[library] = None
            if isinstance(library, _PartLibrary):
                waiting += library._linking_libraries
    return list(found)


class _Flags(Flags):
    """Options of the compiler, compared without building a dictionary of them each time."""

    __slots__ = ("_known",)
    _known: dict[str, Any]
    _HASH = hash(tuple(sorted(Flags.options)))

    def __hash__(self) -> int:
        return self._HASH

    def __eq__(self, other: object) -> bool:
        if type(other) is _Flags:
            return bool(self.values() == other.values())
        return bool(Flags.__eq__(self, other))

    def values(self) -> Any:
        """Return all options; none changes once functions are compiled by them."""
        try:
            return self._known
        except AttributeError:
            self._known = Flags.values(self)
            return self._known


class _Typing:
    """Numba's typing context, which remembers what operators do to given types."""

    _found: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any, flags: Flags) -> None:
        self._context = context
        self._flags = tuple(map(str, flags.values().values()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call; what implements it is noted where numba notes it."""
        if isinstance(func, types.BoundFunction) and is_other_view(func, args):
            return signature(args[0].instance_type, *args, recvr=func.this)
        if func is operator.getitem:
            func = self._context.resolve_value_type(func)
        if kws or not isinstance(func, types.Function):
            return self._context.resolve_function_type(func, args, kws)
        key, known = (func, args, self._flags), getattr(func, "_impl_keys", {})
        if key not in self._found:
            found = self._context.resolve_function_type(func, args, kws)
            if found is None or found.args not in known:
                return found
            self._found[key] = found, known[found.args]
        found, implementation = self._found[key]
        known[found.args] = implementation
        return found

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of writing to a place."""
        to = self._context.resolve_value_type(operator.setitem)
        return self.resolve_function_type(to, (target, index, value), {})

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a global; a kernel within another is a part of it."""
        known = INSTEAD.get(value, value) if value is max or value is min else value
        return self._context.resolve_value_type(getattr(known, "as_part", known))

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        """Return the type of an attribute; a kernel of another module is a part as well."""
        found = self._context.resolve_getattr(typ, attr)
        if isinstance(found, types.Dispatcher):
            return self.resolve_value_type(found.dispatcher)
        return found


class _QuickCompiler(Compiler):
    """Numba's compiler, without what our functions have no need of."""

    _library: ClassVar[type[JITCodeLibrary]] = _KernelLibrary
    _without: ClassVar[set[str]] = set()

    def __init__(self, typingctx: Any, targetctx: Any, *args: Any) -> None:
        super().__init__(typingctx, targetctx, *args)  # type: ignore[no-untyped-call]
        self.state.typingctx = _Typing(typingctx, self.state.flags)
        self.state.flags = _Flags(self.state.flags)  # type: ignore[no-untyped-call]
        self.state.targetctx.__class__ = QuickContext

    def define_pipelines(self) -> Any:
        """Return the passes over a function."""
        state = self.state
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        (pipeline,) = super().define_pipelines()  # type: ignore[no-untyped-call]
        pipeline.passes = [
            (QuickLowering if p is NativeLowering else p, what)
            for p, what in pipeline.passes
            if p.name() not in self._without
        ]
        return [pipeline]


class KernelCompiler(_QuickCompiler):
    """Compiles kernels."""


class BareCompiler(_QuickCompiler):
    """Compiles kernels that make no arrays."""

    _without = _NOT_NEEDED


class BriefCompiler(BareCompiler):
    """Compiles kernels whose loops are short."""

    def define_pipelines(self) -> Any:
        """Return the passes over a kernel."""
        self.state.targetctx.brief = True
        return super().define_pipelines()


class PartCompiler(BareCompiler):
    """Compiles parts, of which kernels alone have need."""

    _library = _PartLibrary

    def define_pipelines(self) -> Any:
        """Return the passes over a part."""
        self.state.targetctx.get_executable = _not_executable
        return super().define_pipelines()


class BriefPartCompiler(PartCompiler, BriefCompiler):
    """Compiles parts whose loops are short."""


class ApartCompiler(PartCompiler):
    """Compiles parts that stay functions of their own."""

    def define_pipelines(self) -> Any:
        """Return the passes over a part."""
        self.state.targetctx.apart = True
        return super().define_pipelines()


def _not_executable(library: Any, fndesc: Any, env: Any) -> Any:
    """Return what numba knows a function by; there is no machine code to run."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,))
