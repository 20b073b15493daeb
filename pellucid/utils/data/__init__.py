"""`torch.utils.data`."""

# Before the star, which would put the modules of `pellucid.data` in their places.
from . import _utils as _utils
from . import dataloader as dataloader
from . import datapipes as datapipes
from . import dataset as dataset
from . import distributed as distributed
from . import graph as graph
from . import graph_settings as graph_settings
from . import sampler as sampler

_own = dict(globals())
from ...api.attach import suggest_names as _suggest_names  # noqa: E402
from ...data import *  # noqa: E402, F403
from ...data.loading.fetch import _DatasetKind as _DatasetKind  # noqa: E402
from ...data.loading.worker import get_worker_info as get_worker_info  # noqa: E402
from ...data.pipes import branches as _branches  # noqa: E402  (their pipes are methods)
from ...data.pipes import by_key as _map_pipes  # noqa: E402
from ...data.pipes import files as _file_pipes  # noqa: E402
from ...data.pipes.base import DataChunk as DataChunk  # noqa: E402
from ...data.pipes.base import DFIterDataPipe as DFIterDataPipe  # noqa: E402
from ...data.pipes.base import IterDataPipe as IterDataPipe  # noqa: E402
from ...data.pipes.base import MapDataPipe as MapDataPipe  # noqa: E402
from ...data.pipes.base import functional_datapipe as functional_datapipe  # noqa: E402

globals().update(
    {
        _name: _own[_name]
        for _name in (
            "_utils",
            "datapipes",
            "dataloader",
            "dataset",
            "distributed",
            "graph",
            "graph_settings",
            "sampler",
        )
    }
)
_suggest_names(__name__)
