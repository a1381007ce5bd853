# SPDX-License-Identifier: MIT
from os import PathLike
from types import TracebackType
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, Union

import pandas

_Path = Union[str, bytes, 'PathLike[str]', 'PathLike[bytes]']
_Numbers = Union[str, int, Iterable[int]]
# bytes: raw memory; a tuple: an array; None: this event does not have the field
_Value = Union[int, bool, float, str, bytes, Tuple[int, ...], None]

__version__: str

class Error(ValueError): ...

class EventClass:
    name: str
    group: str
    layer: str
    source: str
    fields: Tuple[str, ...]
    types: Tuple[str, ...]

class Event:
    name: str
    group: str
    layer: str
    source: str
    fields: Tuple[str, ...]
    values: Tuple[_Value, ...]
    time: Optional[int]
    time_error: Optional[int]
    cpu: int
    pid: int
    vcpu: int
    event_class: EventClass
    def __getitem__(self, field: str) -> _Value: ...
    def __contains__(self, field: object) -> bool: ...
    def get(self, field: str, default: Any = ...) -> Any: ...
    def as_dict(self) -> Dict[str, _Value]: ...

class Loss:
    layer: str
    source: str
    since: Optional[int]
    time: Optional[int]
    time_error: Optional[int]
    cpu: int
    lost: Optional[int]
    skipped: int

class Column(Sequence[Any]):
    def __getitem__(self, i: Any) -> Any: ...
    def __len__(self) -> int: ...

class Batch:
    name: str
    layer: str
    event_class: EventClass
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Union[Column, List[Any]]: ...
    def keys(self) -> List[str]: ...
    def valid(self, name: str) -> Optional[Column]: ...

class Batches(Iterator[Batch]):
    def __next__(self) -> Batch: ...

class Trace(Iterator[Any]):
    # Events; with losses=True, a Loss too.
    def __next__(self) -> Any: ...
    def __enter__(self) -> 'Trace': ...
    def __exit__(self, exc_type: Optional[Type[BaseException]], exc_val: Optional[BaseException],
                 exc_tb: Optional[TracebackType]) -> None: ...
    def batches(self, size: int = ...) -> Batches: ...
    def text(self) -> str: ...
    def close(self) -> None: ...
    notes: List[str]
    unmatched: List[str]
    classes: List[EventClass]
    sources: List[Dict[str, Any]]
    lost: Optional[int]
    losses: int

def open(path: Union[_Path, Iterable[_Path]], events: Union[str, Iterable[str], None] = ..., *,
         layers: Union[str, Iterable[str], None] = ..., cpus: Optional[_Numbers] = ...,
         pids: Optional[_Numbers] = ..., vcpus: Optional[_Numbers] = ..., since: Union[str, float, None] = ...,
         until: Union[str, float, None] = ..., limit: Optional[int] = ..., losses: bool = ..., names: bool = ...,
         keep_going: bool = ..., host_time: bool = ..., source: Optional[str] = ...,
         declarations: Union[_Path, Iterable[_Path], None] = ..., cpu_hz: int = ..., xen_version: Optional[str] = ...,
         cpu_vendor: Optional[str] = ..., no_header: bool = ..., file_order: bool = ...,
         stated_clocks: bool = ...) -> Trace: ...

def frame(path: Union[_Path, Iterable[_Path]], event: str, **options: Any) -> 'pandas.DataFrame': ...

def table(path: Union[_Path, Iterable[_Path]], name: str, *, pairs: Union[str, Iterable[str]] = ...,
          declarations: Union[_Path, Iterable[_Path], None] = ..., cpu_hz: int = ..., xen_version: Optional[str] = ...,
          cpu_vendor: Optional[str] = ..., keep_going: bool = ..., host_time: bool = ...,
          stated_clocks: bool = ...) -> Batch: ...

def spans(path: Union[_Path, Iterable[_Path]], pairs: Union[str, Iterable[str]] = ..., **options: Any) -> Batch: ...

def states(path: Union[_Path, Iterable[_Path]], **options: Any) -> Batch: ...
