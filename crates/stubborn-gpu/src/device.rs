//! The few calls of OpenCL that the engine needs. The only file with unsafe code.
//!
//! The library is loaded when a device is asked for: the program runs without it.

use std::ffi::{CString, c_void};
use std::fmt;
use std::ptr;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_int, cl_kernel, cl_mem, cl_program,
};
use cl3::{command_queue, context, device, event, kernel, memory, platform, program};

use crate::cache::Cache;

/// Why something on a device cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceError {
    /// There is no OpenCL, or no device that can be used; in words.
    NoDevice(String),
    /// A device has too little memory for what was asked.
    OutOfMemory,
    /// The driver did not accept the generated program; its messages.
    Build(String),
    /// A call failed: which, and how.
    Call(&'static str, i32),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice(reason) => write!(
                f,
                "there is no graphics card to use: {reason} (an OpenCL 1.2 driver is needed; \
                 `pocl` runs the same code on the CPU)"
            ),
            Self::OutOfMemory => f.write_str("the graphics card has too little memory"),
            Self::Build(log) => write!(
                f,
                "the driver of the graphics card rejects the generated code: {log}"
            ),
            Self::Call(call, code) => write!(
                f,
                "the driver of the graphics card fails in {call} (error {code})"
            ),
        }
    }
}

impl std::error::Error for DeviceError {}

/// Turns an error code into an error.
fn failed(call: &'static str) -> impl Fn(cl_int) -> DeviceError {
    const OUT_OF_DEVICE_MEMORY: [cl_int; 4] = [-4, -5, -6, -61];
    move |code| match OUT_OF_DEVICE_MEMORY.contains(&code) {
        true => DeviceError::OutOfMemory,
        false => DeviceError::Call(call, code),
    }
}

type Result<T> = std::result::Result<T, DeviceError>;

/// What is known about a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// As its maker calls it.
    pub name: String,
    /// Of the driver.
    pub version: String,
    /// Bytes of its memory.
    pub memory: u64,
    /// Bytes of the largest buffer.
    pub largest_buffer: u64,
    /// Bytes that a work-group can have for itself.
    pub local_memory: u64,
    /// How many work-groups run at once, at least.
    pub units: u32,
    /// It is no card, but the CPU of this machine.
    pub is_cpu: bool,
}

/// A device that is ready to run programs.
pub struct Device {
    handle: Rc<Handle>,
    info: DeviceInfo,
    cache: Option<Cache>,
}

/// What must live as long as anything on the device.
struct Handle {
    device: cl_device_id,
    context: cl_context,
    queue: cl_command_queue,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: both were created with it, and everything that uses them has a reference to it.
        unsafe {
            let _ = command_queue::release_command_queue(self.queue);
            let _ = context::release_context(self.context);
        }
    }
}

impl Device {
    /// The best device of this machine: a card if there is one.
    ///
    /// `STUBBORN_OPENCL_DEVICE` chooses another by a part of its name.
    pub fn open() -> Result<Self> {
        // Some drivers do not like to be started by two threads at once.
        static STARTING: Mutex<()> = Mutex::new(());
        let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = std::env::var("STUBBORN_OPENCL_DEVICE").unwrap_or_default();
        let platforms = platform::get_platform_ids().map_err(|code| {
            DeviceError::NoDevice(match code {
                cl3::error_codes::DLOPEN_RUNTIME_LOAD_FAILED => {
                    "no OpenCL library is installed".into()
                }
                _ => format!("no OpenCL platform is installed (error {code})"),
            })
        })?;
        let mut found = Vec::new();
        for platform in platforms {
            for id in
                device::get_device_ids(platform, device::CL_DEVICE_TYPE_ALL).unwrap_or_default()
            {
                if let Ok(info) = describe(id) {
                    found.push((id, info));
                }
            }
        }
        found.retain(|(_, info)| info.name.to_lowercase().contains(&wanted.to_lowercase()));
        let best = found
            .into_iter()
            .min_by_key(|(_, info)| (info.is_cpu, u64::MAX - info.memory));
        let Some((id, info)) = best else {
            return Err(DeviceError::NoDevice(
                "OpenCL knows no device with 64-bit atomics".into(),
            ));
        };
        let context = context::create_context(&[id], ptr::null(), None, ptr::null_mut());
        let context = context.map_err(failed("clCreateContext"))?;
        // SAFETY: the device belongs to the context.
        #[allow(deprecated)] // the way of OpenCL 1.2, which every driver has
        let queue = unsafe { command_queue::create_command_queue(context, id, 0) };
        let queue = queue.map_err(failed("clCreateCommandQueue"))?;
        Ok(Self {
            handle: Rc::new(Handle {
                device: id,
                context,
                queue,
            }),
            info,
            cache: Cache::of_user(),
        })
    }

    /// Keeps compiled programs in this folder, or nowhere.
    #[must_use]
    pub fn with_cache(mut self, folder: Option<&std::path::Path>) -> Self {
        self.cache = folder.map(Cache::new);
        self
    }

    /// What is known about it.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Memory that nobody has written to.
    pub(crate) fn buffer(&self, bytes: u64) -> Result<Buffer> {
        let size = usize::try_from(bytes.max(64)).map_err(|_| DeviceError::OutOfMemory)?;
        // SAFETY: no memory of the host is involved.
        let made = unsafe {
            memory::create_buffer(
                self.handle.context,
                memory::CL_MEM_READ_WRITE,
                size,
                ptr::null_mut(),
            )
        };
        // A buffer that is too large has a code of its own.
        let made = made.map_err(|code| match code {
            -61 | -4 => DeviceError::OutOfMemory,
            _ => failed("clCreateBuffer")(code),
        })?;
        Ok(Buffer {
            mem: made,
            bytes: size,
            handle: Rc::clone(&self.handle),
        })
    }

    /// Writes numbers to a buffer from place `to` on, after all that was queued.
    pub(crate) fn write(&self, buffer: &Buffer, to: usize, numbers: &[u64]) -> Result<()> {
        assert!(
            8 * to + size_of_val(numbers) <= buffer.bytes,
            "more than the buffer holds"
        );
        // SAFETY: the call waits until the numbers were read, and the buffer has room for them.
        let done = unsafe {
            command_queue::enqueue_write_buffer(
                self.handle.queue,
                buffer.mem,
                1,
                8 * to,
                size_of_val(numbers),
                numbers.as_ptr().cast::<c_void>(),
                0,
                ptr::null(),
            )
        };
        release(done.map_err(failed("clEnqueueWriteBuffer"))?);
        Ok(())
    }

    /// Reads numbers from a buffer from place `from` on, after all that was queued.
    pub(crate) fn read(&self, buffer: &Buffer, from: usize, numbers: &mut [u64]) -> Result<()> {
        assert!(
            8 * from + size_of_val(numbers) <= buffer.bytes,
            "more than the buffer holds"
        );
        // SAFETY: the call waits until the numbers were written, and there is room for them.
        let done = unsafe {
            command_queue::enqueue_read_buffer(
                self.handle.queue,
                buffer.mem,
                1,
                8 * from,
                size_of_val(numbers),
                numbers.as_mut_ptr().cast::<c_void>(),
                0,
                ptr::null(),
            )
        };
        release(done.map_err(failed("clEnqueueReadBuffer"))?);
        Ok(())
    }

    /// Queues a kernel for so many groups of so many work-items.
    pub(crate) fn queue(&self, kernel: &Kernel, groups: usize, group: usize) -> Result<()> {
        let (all, each) = (groups * group, group);
        // SAFETY: the caller has set all arguments; buffers live as long as the kernel's list of them.
        let done = unsafe {
            command_queue::enqueue_nd_range_kernel(
                self.handle.queue,
                kernel.kernel,
                1,
                ptr::null(),
                &raw const all,
                &raw const each,
                0,
                ptr::null(),
            )
        };
        release(done.map_err(failed("clEnqueueNDRangeKernel"))?);
        Ok(())
    }

    /// Starts what was queued, without waiting for it.
    pub(crate) fn flush(&self) -> Result<()> {
        command_queue::flush(self.handle.queue).map_err(failed("clFlush"))
    }

    /// Waits for all that was queued.
    pub(crate) fn finish(&self) -> Result<()> {
        command_queue::finish(self.handle.queue).map_err(failed("clFinish"))
    }

    /// Compiles a program, or finds it among those that were compiled before.
    pub(crate) fn build(&self, source: &str, options: &str) -> Result<Built> {
        let key = [source, options, &self.info.name, &self.info.version];
        if let Some(cache) = &self.cache
            && let Some(binary) = cache.find(&key)
            && let Ok(built) = self.load(&binary, options)
        {
            return Ok(built);
        }
        let made = program::create_program_with_source(self.handle.context, &[source]);
        let built = Built {
            program: made.map_err(failed("clCreateProgramWithSource"))?,
            from_cache: false,
            handle: Rc::clone(&self.handle),
        };
        self.compile(&built, options)?;
        if let (Some(cache), Ok(binary)) = (&self.cache, binary(&built)) {
            cache.keep(&key, &binary);
        }
        Ok(built)
    }

    /// A program that was compiled before.
    fn load(&self, binary: &[u8], options: &str) -> Result<Built> {
        // SAFETY: the device is a member of the context.
        let made = unsafe {
            program::create_program_with_binary(
                self.handle.context,
                &[self.handle.device],
                &[binary],
            )
        };
        let built = Built {
            program: made.map_err(failed("clCreateProgramWithBinary"))?,
            from_cache: true,
            handle: Rc::clone(&self.handle),
        };
        self.compile(&built, options)?;
        Ok(built)
    }

    fn compile(&self, built: &Built, options: &str) -> Result<()> {
        let options =
            CString::new(options).map_err(|_| DeviceError::Build("bad options".into()))?;
        let devices = [self.handle.device];
        program::build_program(built.program, &devices, &options, None, ptr::null_mut()).map_err(
            |code| {
                let log = program::get_program_build_info(
                    built.program,
                    self.handle.device,
                    program::CL_PROGRAM_BUILD_LOG,
                );
                let log = log.map_or_else(|_| String::new(), String::from);
                let short: String = log.chars().take(2_000).collect();
                DeviceError::Build(format!("error {code}: {short}"))
            },
        )
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// What a device says of itself; fails for those that cannot be used.
fn describe(id: cl_device_id) -> std::result::Result<DeviceInfo, cl_int> {
    let text = |what| device::get_device_info(id, what).map(String::from);
    let number = |what| device::get_device_info(id, what).map(u64::from);
    let extensions = text(device::CL_DEVICE_EXTENSIONS)?;
    if !extensions.contains("cl_khr_int64_base_atomics") {
        return Err(-1);
    }
    let kind = device::get_device_info(id, device::CL_DEVICE_TYPE).map(u64::from)?;
    Ok(DeviceInfo {
        name: text(device::CL_DEVICE_NAME)?,
        version: format!(
            "{} {}",
            text(device::CL_DEVICE_VERSION)?,
            text(device::CL_DRIVER_VERSION)?
        ),
        memory: number(device::CL_DEVICE_GLOBAL_MEM_SIZE)?,
        largest_buffer: number(device::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
        local_memory: number(device::CL_DEVICE_LOCAL_MEM_SIZE)?,
        units: device::get_device_info(id, device::CL_DEVICE_MAX_COMPUTE_UNITS).map(u32::from)?,
        is_cpu: kind & device::CL_DEVICE_TYPE_CPU != 0,
    })
}

/// The compiled code of a program.
fn binary(built: &Built) -> Result<Vec<u8>> {
    let all = program::get_program_info(built.program, program::CL_PROGRAM_BINARIES);
    let all = all.map_err(failed("clGetProgramInfo"))?.to_vec_vec_uchar();
    all.into_iter()
        .next()
        .ok_or(DeviceError::Call("clGetProgramInfo", 0))
}

/// Nobody waits for single commands.
fn release(event: cl3::types::cl_event) {
    // SAFETY: the event was just made by the queue, and is not used afterwards.
    unsafe {
        let _ = event::release_event(event);
    }
}

/// Memory of a device.
pub(crate) struct Buffer {
    mem: cl_mem,
    bytes: usize,
    #[allow(dead_code)] // keeps the context alive
    handle: Rc<Handle>,
}

impl Buffer {
    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: created by this, released once.
        unsafe {
            let _ = memory::release_mem_object(self.mem);
        }
    }
}

/// A compiled program.
pub(crate) struct Built {
    program: cl_program,
    pub(crate) from_cache: bool,
    handle: Rc<Handle>,
}

impl Built {
    /// A kernel of it.
    pub(crate) fn kernel(&self, name: &'static str) -> Result<Kernel> {
        let text = CString::new(name).map_err(|_| DeviceError::Call("clCreateKernel", 0))?;
        let kernel =
            kernel::create_kernel(self.program, &text).map_err(failed("clCreateKernel"))?;
        Ok(Kernel {
            kernel,
            handle: Rc::clone(&self.handle),
        })
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        // SAFETY: created by this, released once.
        unsafe {
            let _ = program::release_program(self.program);
        }
    }
}

/// A kernel with its arguments.
pub(crate) struct Kernel {
    kernel: cl_kernel,
    #[allow(dead_code)] // keeps the context alive
    handle: Rc<Handle>,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'b> {
    Buffer(&'b Buffer),
    Long(u64),
    Int(u32),
}

impl Kernel {
    /// Sets arguments from number `from` on.
    pub(crate) fn set(&self, from: u32, arguments: &[Argument<'_>]) -> Result<()> {
        for (number, argument) in (from..).zip(arguments) {
            // SAFETY: the value lives through the call, and has the size that is said.
            let done = unsafe {
                match argument {
                    Argument::Buffer(buffer) => kernel::set_kernel_arg(
                        self.kernel,
                        number,
                        size_of::<cl_mem>(),
                        (&raw const buffer.mem).cast(),
                    ),
                    Argument::Long(value) => {
                        kernel::set_kernel_arg(self.kernel, number, 8, ptr::from_ref(value).cast())
                    }
                    Argument::Int(value) => {
                        kernel::set_kernel_arg(self.kernel, number, 4, ptr::from_ref(value).cast())
                    }
                }
            };
            done.map_err(failed("clSetKernelArg"))?;
        }
        Ok(())
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: created by this, released once.
        unsafe {
            let _ = kernel::release_kernel(self.kernel);
        }
    }
}
