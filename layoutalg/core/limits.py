"""How much is too much: every limit of the package, with its unit and its reason.

What is over a limit is refused in words, before anything of that size is allocated or worked through. Numbers that only say
how a drawing looks stand where it is drawn.

>>> Layout.parse("d0 = 65536@reg, d1 = 65536@lane").fragment_map()
Traceback (most recent call last):
layoutalg.core.errors.SizeError: a map of 1 sg x 65536 lane x 65536 reg x 2 coordinates is over the limit of 2^28 entries;
ask for a part with fragment_map(sg=0, lane=0), or for a part of the tensor with restrict()
(layout d0 = 65536@reg, d1 = 65536@lane)
"""

from __future__ import annotations

__all__ = [
    "LARGEST_EXPANDED",
    "LARGEST_PNG",
    "LARGEST_SCENE",
    "LAUNCH_GROUP",
    "LONGEST_ANSWER",
    "LONGEST_ASKED",
    "LONGEST_ATTRIBUTE",
    "LONGEST_INTEGER",
    "LONGEST_MESSAGE",
    "LONGEST_NAME",
    "LONGEST_NESTED",
    "LONGEST_QUESTION",
    "LONGEST_SHOWN",
    "LONGEST_SILENCE",
    "LONGEST_SOURCE_LINE",
    "LONGEST_USUAL",
    "MAX_COPIES",
    "MAX_ENTRIES",
    "MAX_EXTENT",
    "MAX_NESTING",
    "MAX_SIZE",
    "MAX_START",
    "MAX_TEXT",
    "MEMORY_SPAN",
    "MOST_ACCESSES",
    "MOST_ADDRESSES",
    "MOST_ALIASED",
    "MOST_ALIASES",
    "MOST_ARGUMENT_BYTES",
    "MOST_ATOMS",
    "MOST_BANDS",
    "MOST_BLOCKS",
    "MOST_BLOCKS_REPORTED",
    "MOST_BLOCKS_VERIFIED",
    "MOST_BOXES",
    "MOST_BROADCASTS",
    "MOST_CASE_WORKGROUPS",
    "MOST_CELLS",
    "MOST_CELL_COPIES",
    "MOST_CELL_LETTERS",
    "MOST_CHECKED_PRODUCTS",
    "MOST_CLUSTER",
    "MOST_COMPARED_COPIES",
    "MOST_COMPARED_ELEMENTS",
    "MOST_COMPARED_ENTRIES",
    "MOST_COMPARED_LINES",
    "MOST_CONNECTIONS",
    "MOST_CONSTANT_BYTES",
    "MOST_COORDINATES",
    "MOST_COPIES_TRIED",
    "MOST_CUTE_CALLS",
    "MOST_CUTE_STRIDE",
    "MOST_CUTE_VALUES",
    "MOST_DIGITS",
    "MOST_DIMENSIONS",
    "MOST_DOTS",
    "MOST_DPAS",
    "MOST_DRAWN",
    "MOST_DRAWN_REGISTERS",
    "MOST_FACTORS",
    "MOST_FAMILIES",
    "MOST_FILES",
    "MOST_FINDINGS",
    "MOST_FINDINGS_SENT",
    "MOST_FOLDED",
    "MOST_GEMM_BYTES",
    "MOST_GIVEN",
    "MOST_HELD",
    "MOST_KERNEL_OPERATIONS",
    "MOST_KERNEL_TEXT",
    "MOST_KEYS",
    "MOST_LABELS",
    "MOST_LANES",
    "MOST_LAYOUTS",
    "MOST_LEAVES",
    "MOST_LINEAR_BITS",
    "MOST_LISTED",
    "MOST_LIVE_BYTES",
    "MOST_LOOKED_UP",
    "MOST_LOOPS",
    "MOST_MEMORY_ROWS",
    "MOST_MODULE_ELEMENTS",
    "MOST_NAMED",
    "MOST_NATIVE_BYTES",
    "MOST_NATIVE_OPERATIONS",
    "MOST_NESTED_COORDINATES",
    "MOST_NESTED_COUNTED",
    "MOST_NOTEBOOK_LETTERS",
    "MOST_OPERANDS",
    "MOST_OPERATIONS",
    "MOST_OWNERS_COUNTED",
    "MOST_OWNERS_LISTED",
    "MOST_PACKED",
    "MOST_PADDING",
    "MOST_PAIRS",
    "MOST_PARTS",
    "MOST_PHASES",
    "MOST_PICKED",
    "MOST_PLACE_SUMS",
    "MOST_PLANNED_SLOTS",
    "MOST_PRINTED",
    "MOST_PRINTED_BITS",
    "MOST_PRIVATE_BYTES",
    "MOST_READ_OPERATIONS",
    "MOST_REGISTERS",
    "MOST_RELAYED",
    "MOST_REPLICA_PLACES",
    "MOST_REPLICA_SHIFTS",
    "MOST_REPORTED",
    "MOST_ROWS_SENT",
    "MOST_SCALAR_OPERATIONS",
    "MOST_SENT",
    "MOST_SHADOW_STAMPS",
    "MOST_SHARED_BYTES",
    "MOST_SHOWN_VALUES",
    "MOST_SIMULATED_BATCH",
    "MOST_SLOTS",
    "MOST_SLOTS_TRIED",
    "MOST_SOFT_OPERATIONS",
    "MOST_SORTED",
    "MOST_STEPS",
    "MOST_STEP_CELLS",
    "MOST_SUBGROUPS",
    "MOST_SWATCHES",
    "MOST_SWIZZLED",
    "MOST_SYMBOLIC",
    "MOST_TABLE_ENTRIES",
    "MOST_TENSOR_ELEMENTS",
    "MOST_TERMINAL_COLUMNS",
    "MOST_TERMINAL_ROWS",
    "MOST_TERMS",
    "MOST_TILES_GIVEN",
    "MOST_TILE_STRIDE",
    "MOST_TIMED_OPERATIONS",
    "MOST_TOGETHER_BYTES",
    "MOST_TRACED_BYTES",
    "MOST_TRACED_WORDS",
    "MOST_UNCOVERED",
    "MOST_UNREAD",
    "MOST_VECTOR_ELEMENTS",
    "MOST_WEIGHED",
    "MOST_WEIGHTS",
    "MOST_WORDS",
    "MOST_WORK",
    "MOST_WORKER_BYTES",
    "MOST_WORKGROUPS",
    "MOST_WORK_ITEMS",
    "MOST_WRITTEN_OUT",
    "SECONDS_ANSWER",
    "SECONDS_CONNECTION",
]

# Text

MAX_TEXT = 16 * 2**20
"""Characters of a text that is read; also of an MLIR module."""
MAX_NESTING = 64
"""Levels of slices, parentheses and tuples: reading goes one Python frame deeper for each."""
LONGEST_INTEGER = 24
"""Characters of a number in a text; what is longer is over 2^63 anyway."""
MOST_DIGITS = 4300
"""Digits of a number that Python prints and reads; it refuses longer ones (`sys.int_info.default_max_str_digits`)."""
LONGEST_NAME = 64
"""Characters of the name of an axis, a dimension or a symbol."""
LONGEST_USUAL = 1024
"""Characters of a text of the usual form, which is read at once; a longer one is read word by word."""
LONGEST_SHOWN = 60
"""Characters of a value that a message shows."""
LONGEST_SILENCE = 60
"""Seconds that a reader waits for more text from a pipe: a compiler that writes to it may take that long."""
LONGEST_SOURCE_LINE = 1000
"""Characters of a line of a module that are shown behind the column that a finding is about."""
LONGEST_MESSAGE = 2000
"""Characters of a message: a screen of text."""
MOST_ATOMS = 16
"""Numbers and symbols of one extent: a normal form of more could take for ever."""
MOST_TERMS = 100
"""Terms of a numerator or a denominator, multiplied out: more would take more than 50 ms."""
MOST_ALIASES = 4096
"""Aliases (`#a = ...`) of one text."""
MOST_MODULE_ELEMENTS = 2**20
"""Elements of a vector in an MLIR module."""
MOST_CONSTANT_BYTES = 2**26
"""Bytes of all different constants of an MLIR module."""
LARGEST_EXPANDED = 2**16
"""Elements of a constant up to which one repeated value is written out."""
MOST_LISTED = 2**19
"""Entries of all lists in the attributes of an MLIR module: a Python object each."""
MOST_ALIASED = 2**16
"""Characters that an alias of an MLIR module stands for, with the aliases in it written out."""
MOST_BLOCKS_VERIFIED = 2**22
"""Squares of the numbers of blocks in the regions of an MLIR module, summed: verifying takes a microsecond for each."""
MOST_PARTS = 2**13
"""Modules of one text, as a dump after every pass has them."""
MOST_UNREAD = 2**14
"""Operations of an MLIR module that are kept as text, about 0.1 ms each; after them reading stops."""
MOST_WRITTEN_OUT = 2**26
"""Characters of all aliases in the operations of an MLIR module, written out: what printing it would write."""
MOST_OPERANDS = 2**12
"""Operands of one operation: a forward reference among them is replaced in time that grows with their number."""
MOST_FINDINGS = 1000
"""Findings of reading a text."""
MOST_READ_OPERATIONS = 2**17
"""Operations of an MLIR module that is read: about 2 kB each."""

MOST_LAYOUTS = 2**18
"""Layouts in an MLIR module: more than a text of the longest length has, unless it has nothing else."""

# Layouts

MAX_EXTENT = 2**31
"""Elements of an extent, lanes and subgroups of a machine."""
MAX_START = 2**62
"""Elements of a stride, an offset or an origin: sums of a few still fit into 64 bits."""
MAX_SIZE = 2**62
"""Elements of one dimension: a coordinate fits into 64 bits."""
MOST_DIMENSIONS = 64
"""Dimensions: numpy has no more."""
MOST_FACTORS = 1024
"""Factors of one dimension, or of the replicas, in a text."""
MOST_SYMBOLIC = 64
"""Factors with symbols in one layout's text: each takes about 3 ms."""
MOST_FILES = 10_000
"""Files that one command looks at."""
MOST_GIVEN = 2**16
"""Entries of a list of sizes that a caller gives."""
MOST_REPLICA_PLACES = 2**30
"""Places that overlapping replicas reach: they are compared as a set of so many bits (128 MiB)."""
MOST_REPLICA_SHIFTS = 2**32
"""Bits that are shifted for that: about a second."""

# Maps and tables

MAX_ENTRIES = 2**28
"""Entries (coordinates) of a map as an array: 1 GiB of int32."""
MAX_COPIES = 2**19
"""Owners of one element that are listed: about a second."""
MOST_PLACE_SUMS = 2**16
"""Sums of digits along an axis that are tried for two elements in one place: a tenth of a second."""
MOST_COMPARED_COPIES = 2**12
"""Copies of two elements that are listed for a place which both have."""
MOST_PICKED = 2**24
"""Coordinates of an axis that a part of a map names."""
MOST_TABLE_ENTRIES = 2**23
"""Entries of an index table, which are sorted: about two seconds."""
MOST_PAIRS = 2**22
"""Pairs of an element and a slot that are written out one by one, about two seconds; slots of a map with holes."""

# Notations

MOST_LINEAR_BITS = 62
"""Bits of the input of a linear layout: a basis fits into 64 bits."""
MOST_LEAVES = 1024
"""Integers of a CuTe shape."""
MOST_CUTE_CALLS = 256
"""Calls in one expression of CuTe's algebra."""
MOST_CUTE_STRIDE = 2**62
"""Elements of a CuTe stride, offset, extent or size."""
MOST_CUTE_VALUES = 2**16
"""Values of a CuTe layout that are looked through where closed forms end: a few milliseconds."""
MOST_TILE_STRIDE = 2**40
"""Bytes between the rows of an AMX tile in memory: more than any machine has."""
MOST_BLOCKS = 2**22
"""Blocks of an XeGPU distribution that are listed."""
LONGEST_NESTED = 4096
"""Characters of a nested attribute that is kept parsed."""
MOST_NESTED_COORDINATES = 2**20
"""Coordinates of one thread that a nested layout lists."""
MOST_NESTED_COUNTED = 2**24
"""Elements of a tensor whose uncovered elements are counted one by one."""
MOST_LOOPS = 64
"""Loops of an indexing map."""
MOST_KEYS = 64
"""Characters of a key of a dictionary in a text."""

# Comparing

MOST_COMPARED_ELEMENTS = 2**24
"""Elements that are looked through, where layouts with XOR are no maps of bits, to find the first difference."""
MOST_COMPARED_ENTRIES = 2**18
"""Owners that are listed to find the first difference."""
MOST_OWNERS_LISTED = 16
"""Owners of an element that an answer lists."""
MOST_OWNERS_COUNTED = 2**12
"""Owners of an element that are counted."""

# Conversions and memory

MOST_WORDS = 2**13
"""Words that the lanes of one subgroup exchange, scheduled by tables."""
MOST_WEIGHED = 2**18
"""Words times rounds up to which sending a word to several lanes at once is tried."""
MOST_SLOTS = 2**20
"""Slots (subgroups x lanes x registers) of a conversion that is planned by tables."""
MOST_SLOTS_TRIED = 2**14
"""Slots of a subgroup for which several choices of replicas are tried."""
MOST_LANES = 256
"""Lanes of a subgroup that is converted."""
MOST_SUBGROUPS = 1024
"""Subgroups of a workgroup that is converted."""
MOST_REGISTERS = 2**14
"""Registers of a lane."""
MOST_STEPS = 2**16
"""Steps of a conversion."""
MOST_BROADCASTS = 2**8
"""Shuffles of a conversion that selects nothing before them."""
MOST_SENT = 64
"""Broadcasts for one conversion that are tried where no element is to have copies."""
MOST_RELAYED = 2**11
"""Elements whose ways over other lanes are searched."""
MOST_LOOKED_UP = 64
"""Lanes or subgroups that a looked-up condition can tell apart: the bits of the widest constant."""
MOST_PACKED = 4
"""Slots after the next one that are tried as its companions in a word."""
MOST_ACCESSES = 2**24
"""Slots (subgroups x lanes x registers) of a distribution whose accesses are counted."""
MOST_SORTED = 2**20
"""Words of shared memory that are sorted at once."""
MOST_PADDING = 8
"""Words that a row is padded by, beyond the end of its last word."""

# Simulating and planning

MOST_OPERATIONS = 2**20
"""Operations of one launch, each for a whole group of work-items."""
MOST_WORK = 2**34
"""What the operations of one launch cost together, in units of about half a nanosecond: eight seconds."""
MOST_TRACED_BYTES = 2**26
"""Bytes of the values that a launch traces."""
MOST_LIVE_BYTES = 2**27
"""Bytes of the values that a workgroup holds at once; operations take a few times as much for a moment."""
MEMORY_SPAN = 2**40
"""Bytes of the simulator's address space."""
LAUNCH_GROUP = 2**13
"""Work-items that are simulated at once."""
MOST_TOGETHER_BYTES = 2**22
"""Bytes of the values of all iterations of a loop on the host that run at once: what a core's cache holds."""
MOST_WORKGROUPS = 2**26
"""Workgroups of a launch."""
MOST_CASE_WORKGROUPS = 2**22
"""Workgroups of all cases that are launched together: each has an address of each array."""
MOST_WORK_ITEMS = 1024
"""Work-items of a workgroup: what OpenCL devices accept."""
MOST_SHADOW_STAMPS = 2**26
"""Elements of a buffer of which a launch remembers who accessed them last: 512 MiB."""
MOST_SHARED_BYTES = 2**24
"""Bytes of shared memory of all workgroups that run together."""
MOST_PRIVATE_BYTES = 2**26
"""Bytes of private memory of all work-items that run together."""
MOST_VECTOR_ELEMENTS = 4096
"""Elements of a vector in a kernel."""
MOST_TENSOR_ELEMENTS = 2**22
"""Elements of a tensor that a subgroup or a workgroup holds, where a kernel runs at that level."""
MOST_ARGUMENT_BYTES = 2**30
"""Bytes of an array that a kernel is given from the command line."""
MOST_GEMM_BYTES = 2**27
"""Bytes of a matrix of a GEMM that is run, and of the memory of a host: who wrote what takes a few times as much."""
MOST_NATIVE_BYTES = 2**31
"""Bytes of A, B and C of a product that is compiled and run here: they are copied once."""
MOST_NATIVE_OPERATIONS = 2**45
"""Operations of a product that is run with AMX instructions: half a minute at 1 T/s."""
MOST_TIMED_OPERATIONS = 2**42
"""The same where it is timed: it is run several times, and by numpy."""
MOST_SOFT_OPERATIONS = 2**37
"""The same with soft tiles: half a minute at 4 G/s."""
MOST_SCALAR_OPERATIONS = 2**32
"""The same with LLVM's scalar loops: half a minute at 0.1 G/s."""
MOST_KERNEL_TEXT = 2**21
"""Characters of the text of a kernel that is run: reading takes up to 200 bytes for each."""
MOST_KERNEL_OPERATIONS = 2**14
"""Operations with results in the text of a kernel that is run: reading takes about 0.4 ms for each."""
MOST_SIMULATED_BATCH = 1024
"""Products of a batch for AMX that are simulated one by one: about a minute."""
MOST_DPAS = 2**28
"""Multiplications of tiles of a GEMM that is run."""
MOST_CHECKED_PRODUCTS = 2**16
"""Tile products of a module for AMX that `--check` simulates: five seconds."""

# Pictures and reports

MOST_FOLDED = 32
"""Rows and columns of a folded picture, unless told otherwise."""
MOST_SWIZZLED = 2**12
"""Addresses of the picture of a swizzle."""
MOST_CELLS = 2**24
"""Cells of a full picture."""
MOST_CELL_COPIES = 4096
"""Copies of an element that a picture writes into its cell's tooltip."""
MOST_NAMED = 8
"""Owners that a tooltip names."""
MOST_DRAWN = 2**16
"""Cells of a picture that are drawn one by one."""
MOST_LABELS = 2**14
"""Labels of a picture."""
MOST_DOTS = 256
"""Dots that mark copies in a cell."""
MOST_NOTEBOOK_LETTERS = 100_000
"""Letters of an answer's text, as HTML, that a notebook shows."""
MOST_COMPARED_LINES = 2000
"""Lines of a text whose changes a notebook shows one by one."""
MOST_CELL_LETTERS = 300_000
"""Letters of the drawing in a notebook cell; what is larger is drawn smaller (`core.notebook.in_a_cell`)."""
MOST_SHOWN_VALUES = 2**14
"""Values of a layout of CuTe that a picture of an operation looks at."""
LARGEST_PNG = 16000
"""Pixels along one side of a PNG."""
LARGEST_SCENE = 40000
"""Units along one side of a scene: a larger one would have letters of less than 4 pixels."""
MOST_TERMINAL_ROWS = 48
"""Rows of a grid in a terminal."""
MOST_TERMINAL_COLUMNS = 256
"""Columns of a grid in a terminal."""
MOST_REPORTED = 4096
"""Coordinates that a report lists."""
MOST_UNCOVERED = 16
"""Elements without an owner that a report lists."""
MOST_COPIES_TRIED = 2**16
"""Combinations of replicas that are tried while a picture looks for copies of an element."""
MOST_BANDS = 2**14
"""Rows or columns of a picture, gaps included, before it says that it cannot fold."""
MOST_PRINTED = 64
"""Coordinates that a report prints; JSON has MOST_REPORTED."""
MOST_PLANNED_SLOTS = 2**20
"""Elements of all the conversions of a module that a report plans: a few seconds."""
MOST_HELD = 2**31
"""Elements of a work-item that a report counts."""
MOST_TILES_GIVEN = 64
"""Tiles of a configuration that a caller may list (more than eight are an error in words)."""
MOST_STEP_CELLS = 2**13
"""Registers of all shuffles together, up to which a page shows every shuffle of a conversion as a step of its own."""
MOST_FAMILIES = 8
"""Kinds of shuffles that it draws with arrows."""
MOST_DRAWN_REGISTERS = 64
"""Registers of a lane that it draws."""
MOST_MEMORY_ROWS = 32
"""Rows of shared memory, a word of each bank, that it draws."""
MOST_PHASES = 8
"""Phases of an access to it that it draws."""
MOST_TRACED_WORDS = 2**21
"""Words of all lanes whose contents it finds out."""
MOST_CLUSTER = 16
"""Workgroups of a cluster (CUDA: 8 everywhere, 16 where a kernel asks for them)."""
MOST_BLOCKS_REPORTED = 4096
"""Block origins that a report lists."""
LONGEST_ATTRIBUTE = 240
"""Characters of an attribute that a message repeats."""
MOST_SWATCHES = 8
"""Swatches of a legend."""
MOST_PRINTED_BITS = 14000
"""Bits of a whole number that Python still prints (4,300 digits)."""
MOST_ADDRESSES = 2**27
"""Elements whose addresses are asked for at once: 1 GiB of addresses."""
MOST_COORDINATES = 2**24
"""Coordinates along a dimension whose addresses are asked for."""
MOST_BOXES = 2_000
"""Operations in the picture of a function."""
MOST_WEIGHTS = 2**28
"""Weights of a matrix that is quantised: the largest layers of large models have as many."""
LONGEST_ASKED = 2**20
"""Characters of a text that the explorer is asked about."""
LONGEST_ANSWER = 2**23
"""Bytes of an answer of the explorer."""
LONGEST_QUESTION = 2**21
"""Bytes of a question to the explorer."""
MOST_CONNECTIONS = 64
"""Connections to the explorer at once: a browser has six, a test fifty."""
MOST_WORKER_BYTES = 2**33
"""Bytes of addresses of a process that answers the explorer: the largest maps, twice, and libraries."""
SECONDS_ANSWER = 10.0
"""Seconds in which the explorer answers a question, or says that it does not."""
SECONDS_CONNECTION = 40.0
"""Seconds of a connection to the explorer: a request and its answer, and a question before it."""
MOST_ROWS_SENT = 500
"""Instructions, or values of a module, in an answer of the explorer: more are not read through, but searched for."""
MOST_FINDINGS_SENT = 200
"""Findings about a module in an answer of the explorer."""
