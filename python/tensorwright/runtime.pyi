from ._core import ArgSpec as ArgSpec, DeviceArray as DeviceArray, Function as Function, PackedArray as PackedArray, TimingResult as TimingResult, device_array as device_array, device_info as device_info, load as load, num_threads as num_threads, park_threads as park_threads, set_num_threads as set_num_threads

__all__: list[str]
