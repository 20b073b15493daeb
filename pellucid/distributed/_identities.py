"""Names of PyTorch's distributed packages that programs import and compare with, even in a
single process.

Classes exist for `isinstance`, enumerations for their members. Creating or calling one raises an
error that names it, because there is no process group. One table lists the names of each module;
a name in several modules is one object.
"""

from __future__ import annotations

import enum
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..api.attach import LENT
from ..core.tensor import Tensor
from ..errors import UnsupportedError
from . import averaging, failures, functional, inner, join, mesh
from .ddp import hooks, powersgd
from .methods import AllgatherOptions

# module: Class  function()  Enumeration{MEMBER,MEMBER}  Class<Base
_TABLE = """
_composable: contract()
_composable.fsdp:
_composable.fsdp.fully_shard:
_composable.replicate:
_composable_state: _State _get_module_state() _insert_module_state()
_dist2: new_group() current_process_group() process_group() register_backend()
_functional_collectives: AsyncCollectiveTensor<Tensor
_tensor:
_tensor.api:
_tensor.device_mesh:
_tensor.experimental: context_parallel()
_tensor.placement_types:
_shard: ShardedTensor shard_parameter() shard_module() load_with_process_group()
_shard.sharded_tensor: ShardedTensor ShardedTensorBase Shard ShardMetadata ShardedTensorMetadata TensorProperties empty() full() ones() zeros()
    rand() randn() init_from_local_shards()
_state_dict_utils: _offload_state_dict_to_cpu() _gather_state_dict() _copy_state_dict() _create_cpu_state_dict() _broadcast_state_dict()
_symmetric_memory: empty() rendezvous() enable_symm_mem_for_group() is_symm_mem_enabled_for_group() get_symm_mem_workspace() set_backend()
    get_backend() is_nvshmem_available()
_tools:
_tools.mem_tracker: MemTracker
_tools.fsdp2_mem_tracker: FSDPMemTracker
_tools.memory_tracker: MemoryTracker
_tools.runtime_estimator: RuntimeEstimator
algorithms:
algorithms._checkpoint.checkpoint_wrapper:
algorithms.ddp_comm_hooks:
algorithms.ddp_comm_hooks.default_hooks:
algorithms.ddp_comm_hooks.ddp_zero_hook: hook_with_zero_step() hook_with_zero_step_interleaved()
algorithms.ddp_comm_hooks.debugging_hooks:
algorithms.ddp_comm_hooks.mixed_precision_hooks:
algorithms.ddp_comm_hooks.quantization_hooks: quantization_pertensor_hook() quantization_perchannel_hook()
algorithms.ddp_comm_hooks.post_localSGD_hook:
algorithms.ddp_comm_hooks.powerSGD_hook:
algorithms.ddp_comm_hooks.optimizer_overlap_hooks:
algorithms.join:
algorithms.model_averaging:
algorithms.model_averaging.averagers:
algorithms.model_averaging.hierarchical_model_averager:
algorithms.model_averaging.utils:
argparse_util: env check_env
autograd: backward() context() get_gradients() DistAutogradContext
c10d_logger:
checkpoint: HuggingFaceStorageReader HuggingFaceStorageWriter QuantizedHuggingFaceStorageReader load_sharded_optimizer_state_dict() LoadPlan
    SavePlan ReadItem WriteItem
checkpoint._consolidate_hf_safetensors: consolidate_safetensors_files()
checkpoint.api:
checkpoint.default_planner: create_default_global_load_plan() create_default_global_save_plan() create_default_local_load_plan()
    create_default_local_save_plan() LoadPlan SavePlan ReadItem WriteItem
checkpoint.filesystem: FileSystem<FileSystemBase FileSystemBase SerializationFormat{TORCH_SAVE,SAFETENSORS}
checkpoint.format_utils: BroadcastingTorchSaveReader DynamicMetaLoadPlanner _EmptyStateDictLoadPlanner<DefaultLoadPlanner _load_state_dict()
checkpoint.hf_storage: HuggingFaceStorageReader HuggingFaceStorageWriter
checkpoint.metadata:
checkpoint.optimizer: load_sharded_optimizer_state_dict()
checkpoint.planner: BytesIOWriteData TensorWriteData LoadItemType{TENSOR,BYTE_IO} WriteItemType{TENSOR,SHARD,BYTE_IO} LoadPlan SavePlan ReadItem
    WriteItem
checkpoint.staging: AsyncStager BlockingAsyncStager DefaultStager StagingOptions
checkpoint.state_dict: DictValueType FQNS_T ListDictValueType OptimizerStateType PrimitiveType ValueType
checkpoint.state_dict_loader: _load_state_dict()
checkpoint.state_dict_saver: AsyncCheckpointerType{THREAD,PROCESS} AsyncSaveResponse
checkpoint.stateful: Stateful StatefulT
checkpoint.storage: WriteResult
checkpoint.utils: find_state_dict_object() find_tensor_shard()
collective_utils: broadcast() all_gather() all_gather_object_enforce_type() SyncPayload
constants:
device_mesh:
distributed_c10d: _new_process_group_helper()
elastic:
elastic.agent:
elastic.agent.server: ElasticAgent WorkerSpec Worker WorkerGroup WorkerState{UNKNOWN,INIT,HEALTHY,UNHEALTHY,STOPPED,SUCCEEDED,FAILED} RunResult
    SimpleElasticAgent
elastic.agent.server.api: ElasticAgent WorkerSpec RunResult SimpleElasticAgent Worker WorkerGroup
    WorkerState{UNKNOWN,INIT,HEALTHY,UNHEALTHY,STOPPED,SUCCEEDED,FAILED}
elastic.agent.server.local_elastic_agent: LocalElasticAgent<SimpleElasticAgent
elastic.events: Event EventSource{AGENT,WORKER} record() get_logging_handler() construct_and_record_rdzv_event()
    NodeState{INIT,RUNNING,SUCCEEDED,FAILED} RdzvEvent record_rdzv_event()
elastic.metrics: MetricHandler ConsoleMetricHandler<MetricHandler NullMetricHandler<MetricHandler MetricsConfig MetricData configure() prof()
    profile() put_metric() publish_metric() getStream() initialize_metrics() get_elapsed_time_ms()
elastic.multiprocessing: start_processes() DefaultLogsSpecs<LogsSpecs LogsSpecs LogsDest MultiprocessContext<PContext SubprocessContext<PContext
    PContext RunProcsResult
    SignalException<Exception Std{NONE,OUT,ERR,ALL} to_map()
elastic.multiprocessing.api: SignalException<Exception DefaultLogsSpecs LogsDest LogsSpecs MultiprocessContext PContext RunProcsResult
    Std{NONE,OUT,ERR,ALL} SubprocessContext get_std_cm() to_map()
elastic.multiprocessing.redirects: redirect() redirect_stdout() redirect_stderr() get_libc()
elastic.rendezvous: RendezvousError<Exception RendezvousClosedError<RendezvousError RendezvousTimeoutError<RendezvousError
    RendezvousConnectionError<RendezvousError RendezvousStateError<RendezvousError RendezvousGracefulExitError<RendezvousError
    RendezvousHandler RendezvousHandlerCreator RendezvousHandlerRegistry RendezvousInfo RendezvousParameters RendezvousStoreInfo
elastic.rendezvous.api: RendezvousConnectionError<RendezvousError RendezvousHandler RendezvousParameters RendezvousClosedError<Exception
    RendezvousError<Exception RendezvousGracefulExitError<Exception RendezvousHandlerCreator RendezvousHandlerRegistry RendezvousInfo
    RendezvousStateError<Exception RendezvousStoreInfo RendezvousTimeoutError<Exception
elastic.rendezvous.dynamic_rendezvous: create_handler() DynamicRendezvousHandler RendezvousBackend RendezvousSettings RendezvousTimeout
elastic.timer: TimerClient TimerServer TimerRequest RequestQueue LocalTimerClient<TimerClient LocalTimerServer<TimerServer
    FileTimerClient<TimerClient
    FileTimerServer FileTimerRequest<TimerRequest configure() expires()
elastic.utils: get_env_variable_or_raise() get_socket_with_port() macros
elastic.utils.distributed: create_c10d_store() get_free_port() get_socket_with_port()
elastic.utils.store: barrier() get_all() synchronize() store_timeout()
elastic.multiprocessing.errors: ErrorHandler get_error_handler()
fsdp: DataParallelMeshDims FlatParameter<Tensor
    BackwardPrefetch{BACKWARD_PRE,BACKWARD_POST} ShardingStrategy{FULL_SHARD,SHARD_GRAD_OP,NO_SHARD,HYBRID_SHARD,_HYBRID_SHARD_ZERO2}
    OptimStateKeyType{PARAM_NAME,PARAM_ID}
fsdp.api: BackwardPrefetch ShardingStrategy
fsdp.fully_sharded_data_parallel: BackwardPrefetch ShardingStrategy OptimStateKeyType
fsdp._runtime_utils: _post_backward_final_callback()
fsdp._common_utils: _FSDPState
fsdp._flat_param: FlatParamHandle FlatParameter<Tensor
fsdp._traversal_utils: _get_fsdp_states()
fsdp.sharded_grad_scaler: ShardedGradScaler ProcessGroup
fsdp.wrap: enable_wrap() wrap()
launcher:
launcher.api:
logging_handlers:
optim: DistributedOptimizer as_functional_optim()
optim.post_localSGD_optimizer:
optim.zero_redundancy_optimizer:
pipelining: ScheduleGPipe Pipe Schedule1F1B ScheduleDualPipeV ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble ScheduleLoopedBFS
    ScheduleZBVZeroBubble
    build_stage() PipelineStage SplitPoint{BEGINNING,END} pipeline() pipe_split()
pipelining.microbatch: TensorChunkSpec split_args_kwargs_into_chunks() merge_chunks()
pipelining.schedules: ScheduleGPipe Schedule1F1B ScheduleInterleaved1F1B get_schedule_class() PipelineScheduleMulti PipelineScheduleSingle
    ScheduleDualPipeV ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble
pipelining.stage: PipelineStage build_stage()
remote_device: _remote_device
rpc: AllGatherStates PyRRef RpcAgent RpcBackendOptions WorkerInfo BackendValue backend_registered() construct_rpc_backend_options()
    enable_gil_profiling()
    get_rpc_timeout() init_backend() register_backend() new_method() method_factory() RRef BackendType{TENSORPIPE} TensorPipeAgent
    TensorPipeRpcBackendOptions get_worker_info() init_rpc() rpc_async() rpc_sync() remote() shutdown()
rpc.api: _all_gather() AllGatherStates RRef get_worker_info() method_factory() new_method() remote() rpc_async() rpc_sync() shutdown()
tensor:
tensor._api:
tensor._dtensor_spec:
tensor._utils:
tensor.device_mesh:
tensor.experimental: context_parallel() register_sharding()
tensor.experimental._attention: set_rotate_method() context_parallel()
tensor.parallel:
tensor.parallel.api:
tensor.parallel.loss:
tensor.parallel.style:
tensor.placement_types:
utils: _sync_module_states() _verify_param_shape_across_processes() _to_kwargs()
checkpoint.logger:
checkpoint.logging_handlers:
checkpoint.planner_helpers: create_read_items_for_chunk_list()
checkpoint.quantized_hf_storage: QuantizedHuggingFaceStorageReader
checkpoint.resharding:
config:
debug: start_debug_server() stop_debug_server()
elastic.agent.server.health_check_server: HealthCheckServer create_healthcheck_server()
elastic.control_plane: worker_main()
elastic.events.api: Event EventSource{AGENT,WORKER} NodeState{INIT,RUNNING,SUCCEEDED,FAILED} RdzvEvent
elastic.events.handlers: get_logging_handler()
elastic.metrics.api: ConsoleMetricHandler MetricData MetricHandler MetricStream MetricsConfig NullMetricHandler configure() getStream()
    get_elapsed_time_ms() prof() profile() publish_metric() put_metric()
elastic.multiprocessing.errors.error_handler: ErrorHandler
elastic.multiprocessing.errors.handlers: get_error_handler()
elastic.multiprocessing.subprocess_handler: SubprocessHandler get_subprocess_handler()
elastic.multiprocessing.subprocess_handler.handlers: get_subprocess_handler()
elastic.multiprocessing.subprocess_handler.subprocess_handler: SubprocessHandler
elastic.multiprocessing.tail_log: TailLog tail_logfile()
elastic.rendezvous.c10d_rendezvous_backend: C10dRendezvousBackend FileStore NodeState{INIT,RUNNING,SUCCEEDED,FAILED} RendezvousBackend
    RendezvousConnectionError<Exception RendezvousError<Exception RendezvousParameters RendezvousStateError<Exception Store TCPStore
    construct_and_record_rdzv_event() create_backend() parse_rendezvous_endpoint()
elastic.rendezvous.registry: get_rendezvous_handler()
elastic.rendezvous.static_tcp_rendezvous: StaticTCPRendezvous create_rdzv_handler()
elastic.rendezvous.utils: parse_rendezvous_endpoint()
elastic.timer.api: RequestQueue TimerClient TimerRequest TimerServer configure() expires()
elastic.timer.debug_info_logging: log_debug_info_for_expired_timers()
elastic.timer.file_based_local_timer: FileTimerClient FileTimerRequest FileTimerServer
elastic.timer.local_timer: LocalTimerClient LocalTimerServer MultiprocessingRequestQueue
elastic.utils.api: get_env_variable_or_raise() get_socket_with_port() macros
elastic.utils.data: CyclingIterator ElasticDistributedSampler
elastic.utils.data.cycling_iterator: CyclingIterator
elastic.utils.data.elastic_distributed_sampler: ElasticDistributedSampler
elastic.utils.log_level: get_log_level()
elastic.utils.logging: get_log_level() get_logger()
elastic.utils.process_state: is_uninterruptible_state() read_proc_state()
flight_recorder:
flight_recorder.components:
flight_recorder.components.builder: build_collectives() build_db() build_groups_memberships() transform_ft()
flight_recorder.components.config_manager: JobConfig
flight_recorder.components.fr_logger: FlightRecorderLogger
flight_recorder.components.loader: read_dir() read_dump()
flight_recorder.components.types: Collective Database EntryState Group MatchInfo
    MatchState{FULLY_MATCHED,COLLECTIVE_TYPE_MISMATCH,SIZE_OR_SYNTAX_MISMATCH,COLLECTIVE_STATE_MISMATCH,COLLECTIVE_DTYPE_MISMATCH,UNDECIDED}
    MatchStateRecord Membership NCCLCall Op Ref Traceback TypeInfo
flight_recorder.components.utils: add_stack_id_in_entries() align_trace_from_beginning() check_current_entry_match()
    check_no_missing_dump_files() check_size_alltoall() check_version() error_analysis() find_coalesced_group()
    find_coalesced_group_with_non_p2p() format_frame() format_frames() get_version_detail() just_print_entries() match_coalesced_groups()
    match_coalesced_groups_with_non_p2p() match_one_event()
flight_recorder.fr_trace: main()
nn.api:
nn.api.remote_module: RemoteModule
nn.jit:
nn.jit.instantiator: get_arg_return_types_from_interface() get_remote_module_template() instantiate_non_scriptable_remote_module_template()
    instantiate_scriptable_remote_module_template()
nn.jit.templates:
nn.jit.templates.remote_module_template: get_remote_module_template()
optim.apply_optimizer_in_backward:
optim.functional_adadelta:
optim.functional_adagrad:
optim.functional_adam:
optim.functional_adamax:
optim.functional_adamw:
optim.functional_rmsprop:
optim.functional_rprop:
optim.functional_sgd:
optim.named_optimizer:
optim.optimizer: DistributedOptimizer
optim.utils: as_functional_optim() register_functional_optim()
rpc.backend_registry: BackendType{TENSORPIPE} BackendValue backend_registered() construct_rpc_backend_options() init_backend()
    register_backend()
rpc.constants:
rpc.functions: async_execution()
rpc.internal: PythonUDF RPCExecMode{SYNC,ASYNC,ASYNC_JIT,REMOTE} RemoteException deserialize() serialize()
rpc.options: TensorPipeRpcBackendOptions
rpc.rref_proxy: RRefProxy rpc_async()
rpc.server_process_global_profiler:
tensor.debug: CommDebugMode visualize_sharding()
tensor.parallel.ddp:
tensor.parallel.fsdp: DTensorExtensions
tensor.parallel.input_reshard: input_reshard()
nn: RemoteModule
: shrink_group() record_comm() BackendConfig Logger ProcessGroupGloo<ProcessGroup Reducer
"""
# Modules whose names a module of `sharded` or (with a dot) of this package has, which is loaded when
# one of them is asked for. What it lacks the table has.
_LENT = {
    "launcher": ".launching",
    "launcher.api": ".launching",
    "_composable": "wrappers",
    "_composable.fsdp": "fsdp",
    "_composable.fsdp.fully_shard": "fsdp",
    "_composable.replicate": "wrappers",
    "algorithms._checkpoint.checkpoint_wrapper": "wrappers",
    "fsdp": "fsdp",
    "fsdp.wrap": "wrappers",
    **dict.fromkeys(
        (
            "_tensor",
            "_tensor.api",
            "_tensor.device_mesh",
            "_tensor.experimental",
            "_tensor.placement_types",
            "tensor",
            "tensor._api",
            "tensor._dtensor_spec",
            "tensor._utils",
            "tensor.device_mesh",
            "tensor.experimental",
            "tensor.placement_types",
        ),
        "tensor",
    ),
    **dict.fromkeys(
        (
            "checkpoint",
            "checkpoint.api",
            "checkpoint.default_planner",
            "checkpoint.filesystem",
            "checkpoint.format_utils",
            "checkpoint.metadata",
            "checkpoint.planner",
            "checkpoint.state_dict_loader",
            "checkpoint.state_dict_saver",
            "checkpoint.storage",
            "checkpoint.utils",
        ),
        "checkpoint",
    ),
    "checkpoint.state_dict": "checkpoint.state_dict",
    "optim": "zero",
    "optim.zero_redundancy_optimizer": "zero",
    "optim.post_localSGD_optimizer": "local_sgd",
    **dict.fromkeys(
        ("tensor.parallel", "tensor.parallel.api", "tensor.parallel.loss", "tensor.parallel.style"),
        "parallel",
    ),
}
# The settings of `FullyShardedDataParallel`
_SETTINGS = """CPUOffload MixedPrecision StateDictConfig FullStateDictConfig LocalStateDictConfig ShardedStateDictConfig OptimStateDictConfig
FullOptimStateDictConfig LocalOptimStateDictConfig ShardedOptimStateDictConfig StateDictSettings StateDictType"""
# Names that modules of this package have.
_OWN: dict[str, tuple[ModuleType, str]] = {
    "fsdp": (inner, f"FullyShardedDataParallel {_SETTINGS}"),
    "fsdp.api": (inner, _SETTINGS),
    "fsdp.fully_sharded_data_parallel": (inner, f"FullyShardedDataParallel {_SETTINGS}"),
    "algorithms": (join, "Join Joinable JoinHook"),
    "algorithms.join": (join, "Join Joinable JoinHook"),
    "algorithms.ddp_comm_hooks": (hooks, "DDPCommHookType register_ddp_comm_hook"),
    "algorithms.ddp_comm_hooks.default_hooks": (
        hooks,
        "allreduce_hook fp16_compress_hook bf16_compress_hook fp16_compress_wrapper bf16_compress_wrapper",
    ),
    "algorithms.ddp_comm_hooks.powerSGD_hook": (
        powersgd,
        "PowerSGDState powerSGD_hook batched_powerSGD_hook",
    ),
    "algorithms.ddp_comm_hooks.debugging_hooks": (hooks, "noop_hook"),
    "algorithms.ddp_comm_hooks.post_localSGD_hook": (
        averaging,
        "PostLocalSGDState post_localSGD_hook",
    ),
    "elastic.multiprocessing": (failures, "ProcessFailure"),
    "elastic.multiprocessing.errors": (failures, "ChildFailedError ProcessFailure record"),
    "algorithms.model_averaging.averagers": (averaging, "ModelAverager PeriodicModelAverager"),
    "algorithms.model_averaging.hierarchical_model_averager": (
        averaging,
        "HierarchicalModelAverager",
    ),
    "algorithms.model_averaging.utils": (
        averaging,
        "average_parameters get_params_to_average average_parameters_or_parameter_groups",
    ),
}
_REASON = "docs/distributed.md says what there is of torch.distributed"


def _refusing(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"torch.distributed: {name} is not supported: {_REASON}")

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    refused.__doc__ = f"""Not supported: always raises NotImplementedError.

    >>> import pellucid.distributed as dist
    >>> dist.{name}()
    Traceback (most recent call last):
        ...
    NotImplementedError: ...
    """
    return refused


def _rows() -> Iterator[tuple[str, list[str]]]:
    """(module, entries) of the table, in which a row goes on where a line is indented."""
    for row in _TABLE.replace("\n    ", " ").strip().splitlines():
        module, _, entries = row.partition(":")
        yield module, entries.split()


def publish(scope: dict[str, Any]) -> None:
    """Make the modules of the table, and put the names of its last row into the package's own
    scope.
    """
    home = scope["__name__"]
    made: dict[str, Any] = {
        "Tensor": Tensor,
        "Exception": Exception,
        **{k: v for k, v in scope.items() if isinstance(v, type)},
    }
    for module, entries in _rows():
        space = scope if not module else _space(_module(home, module))
        for entry in entries:
            name, _, base = entry.partition("<")
            if name.endswith("()"):
                space.setdefault(name[:-2], _refusing(f"{module}.{name[:-2]}".lstrip(".")))
                continue
            name, _, members = name.partition("{")
            if name not in made and name not in space:
                made[name] = (
                    _enumeration(name, members, space)
                    if members
                    else _class(name, made.get(base, object), space)
                )
            space.setdefault(name, made.get(name))
    _fill(scope, home)


def _fill(scope: dict[str, Any], home: str) -> None:
    """What the table does not have."""
    for path, (owner, names) in _OWN.items():
        vars(sys.modules[f"{home}.{path}"]).update({n: getattr(owner, n) for n in names.split()})
    constants = vars(sys.modules[f"{home}.constants"])
    constants["default_pg_timeout"] = constants["default_pg_nccl_timeout"] = timedelta(minutes=30)
    mesh_names = vars(sys.modules[f"{home}.device_mesh"])
    mesh_names.update(
        {name: scope[name] for name in ("DeviceMesh", "init_device_mesh")},
        _mesh_resources=mesh.resources,
    )
    functions = vars(sys.modules[f"{home}._functional_collectives"])
    functions.update({name: getattr(functional, name) for name in functional.NAMES})
    c10d = vars(sys.modules[f"{home}.distributed_c10d"])
    for name, value in scope.items():
        if not name.startswith("_") and not isinstance(value, ModuleType):
            c10d.setdefault(name, value)
    c10d["AllgatherOptions"] = AllgatherOptions
    c10d["_pg_map"] = {}
    c10d["_rank_not_in_group"] = scope["_rank_not_in_group"]
    vars(sys.modules[f"{home}.fsdp._common_utils"])["clean_tensor_name"] = inner.clean_tensor_name
    c10d["_world"] = inner.world
    c10d["_get_default_group"] = scope["_get_default_group"]
    c10d["_coalescing_manager"] = scope["_coalescing_manager"]
    for unavailable in ("autograd", "rpc"):
        vars(sys.modules[f"{home}.{unavailable}"])["is_available"] = lambda: False
    vars(sys.modules[f"{home}.rpc.api"])["_require_initialized"] = _require_initialized


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of functions that need `rpc.init_rpc`: they raise PyTorch's error, since that is
    refused.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
        )

    return wrapper


class _LentModule(ModuleType):
    """A module whose names another one has."""

    def __getattr__(self, name: str) -> Any:
        own = vars(self)
        if name.startswith("__") and name != "__all__" or own["_given"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        own["_given"] = True
        lender = own["_lender"]
        target = (
            importlib.import_module(lender, __package__)
            if lender.startswith(".")
            else LENT["sharded"](lender)
        )
        for key, value in vars(target).items():
            if (
                not key.startswith("__")
                and not isinstance(value, ModuleType)
                and key != "annotations"
            ):
                own.setdefault(key, value)
        for key, value in own["_rest"].items():
            own.setdefault(key, value)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        getattr(self, "_", None)
        return sorted(vars(self))


def _space(module: ModuleType) -> dict[str, Any]:
    """Where the table's names go."""
    space: dict[str, Any] = (
        vars(module)["_rest"] if isinstance(module, _LentModule) else vars(module)
    )
    space.setdefault("__name__", module.__name__)
    return space


def _module(home: str, path: str) -> ModuleType:
    """The module of a dotted name, made with those above it."""
    parent = sys.modules[home]
    name = home
    for part in path.split("."):
        name = f"{name}.{part}"
        module = sys.modules.get(name)
        if module is None:
            lender = _LENT.get(name.removeprefix(f"{home}."))
            kind = ModuleType if lender is None else _LentModule
            module = kind(name, f"Names of `torch.{name.partition('.')[2]}`.")
            if lender is not None:
                vars(module).update(_lender=lender, _rest={}, _given=False)
            module.__spec__ = ModuleSpec(name, None, is_package=True)
            module.__path__ = []
            sys.modules[name] = module
        # A function that the lender has comes before a module of its name:
        # `from torch.distributed._composable.fsdp import fully_shard` gives the function.
        _space(parent).setdefault(part, module)
        parent = module
    return parent


def _enumeration(name: str, members: str, space: dict[str, Any]) -> Any:
    return enum.Enum(name, members.rstrip("}").split(","), module=space["__name__"])


def _class(name: str, base: type, space: dict[str, Any]) -> type:
    body: dict[str, Any] = {
        "__module__": space["__name__"],
        "__doc__": f"""Exists for `isinstance` checks only: creating an instance raises an error.

    >>> from {space["__name__"]} import {name}
    >>> isinstance(None, {name})
    False
    """,
    }
    refused = _refusing(name)
    body["__init__" if base is not Tensor else "__new__"] = refused
    return type(name, (base,), body)
