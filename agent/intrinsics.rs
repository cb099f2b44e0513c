//! Methods of the JDK that HotSpot replaces by machine code or runs behind the bytecode's back: the lists, each with its reason.
//!
//! Compiled from the annotation `@IntrinsicCandidate` on all methods with a body in the images of JDK 17, 21 and 25, and the
//! names in HotSpot's `vmIntrinsics.hpp`. Names that a JVM does not know are ignored by it.

/// Intrinsics of methods that have a Java body: with them the compilers drop the body, and the counting in it. The VM flag
/// DisableIntrinsic takes them away. Not here: native methods (nothing to count), what only exists inside the VM, and
/// `StringBuilder`, boxing and the like, which are switched off by flags of their own ([`crate::flags`]).
pub const WITH_BODY: &str = "\
_Class_cast _IndexPartiallyInUpperRange _IndexVector _Preconditions_checkIndex _Preconditions_checkLongIndex \
_VectorBinaryLibOp _VectorBinaryOp _VectorBlend _VectorBroadcastCoerced _VectorBroadcastInt _VectorCompare \
_VectorCompressExpand _VectorConvert _VectorExtract _VectorFromBitsCoerced _VectorGatherOp _VectorInsert \
_VectorLoadMaskedOp _VectorLoadOp _VectorMaskOp _VectorRearrange _VectorRebox _VectorReductionCoerced _VectorScatterOp \
_VectorSelectFrom _VectorSelectFromTwoVectorOp _VectorShuffleIota _VectorShuffleToVector _VectorStoreMaskedOp \
_VectorStoreOp _VectorTernaryOp _VectorTest _VectorUnaryLibOp _VectorUnaryOp _addExactI _addExactL \
_aescrypt_decryptBlock _aescrypt_encryptBlock _allocateUninitializedArray _arrayPartition _arraySort \
_base64_decodeBlock _base64_encodeBlock _bigIntegerLeftShiftWorker _bigIntegerRightShiftWorker _bitCount_i _bitCount_l \
_ceil _chacha20Block _checkIndex _cipherBlockChaining_decryptAESCrypt _cipherBlockChaining_encryptAESCrypt \
_compareAndExchangeByte _compareAndExchangeByteAcquire _compareAndExchangeByteRelease _compareAndExchangeIntAcquire \
_compareAndExchangeIntRelease _compareAndExchangeLongAcquire _compareAndExchangeLongRelease \
_compareAndExchangeReferenceAcquire _compareAndExchangeReferenceRelease _compareAndExchangeShort \
_compareAndExchangeShortAcquire _compareAndExchangeShortRelease _compareAndSetByte _compareAndSetShort _compareToL \
_compareToLU _compareToU _compareToUL _compareUnsigned_i _compareUnsigned_l _compressStringB _compressStringC \
_compress_i _compress_l _copyOf _copyOfRange _countPositives _counterMode_AESCrypt _datan2 _dcopySign _decrementExactI \
_decrementExactL _digestBase_implCompressMB _dilithiumAlmostInverseNtt _dilithiumAlmostNtt _dilithiumDecomposePoly \
_dilithiumMontMulByConstant _dilithiumNttMult _divideUnsigned_i _divideUnsigned_l _doubleIsFinite _doubleIsInfinite \
_doubleToLongBits _double_keccak _dsignum _electronicCodeBook_decryptAESCrypt _electronicCodeBook_encryptAESCrypt \
_encodeAsciiArray _encodeByteISOArray _encodeISOArray _equalsB _equalsC _equalsL _equalsU _expand_i _expand_l _fabs \
_fcopySign _floatIsFinite _floatIsInfinite _floatToIntBits _floor _fma_float16 _fsignum \
_galoisCounterMode_AESCrypt _getAndAddByte _getAndAddInt _getAndAddLong _getAndAddShort _getAndSetByte _getAndSetInt \
_getAndSetLong _getAndSetReference _getAndSetShort _getBooleanAcquire _getBooleanOpaque _getByteAcquire _getByteOpaque \
_getCharAcquire _getCharOpaque _getCharStringU _getCharUnaligned _getCharsStringU _getDoubleAcquire _getDoubleOpaque \
_getFloatAcquire _getFloatOpaque _getIntAcquire _getIntOpaque _getIntUnaligned _getLongAcquire _getLongOpaque \
_getLongUnaligned _getReferenceAcquire _getReferenceOpaque _getShortAcquire _getShortOpaque _getShortUnaligned \
_ghash_processBlocks _hasNegatives _iabs _incrementExactI _incrementExactL _indexOfIL _indexOfIU _indexOfIUL _indexOfL \
_indexOfL_char _indexOfU _indexOfUL _indexOfU_char _inflateStringB _inflateStringC _intpoly_assign \
_intpoly_montgomeryMult_P256 _isCompileConstant _isDigit _isLowerCase _isUpperCase _isWhitespace _kyber12To16 \
_kyberAddPoly_2 _kyberAddPoly_3 _kyberBarrettReduce _kyberInverseNtt _kyberNtt _kyberNttMult _labs _loadFence _max \
_maxD _maxD_strict _maxF _maxF_strict _maxL _max_strict _md5_implCompress _min _minD _minD_strict _minF _minF_strict \
_minL _min_strict _montgomeryMultiply _montgomerySquare _mulAdd _multiplyExactI _multiplyExactL _multiplyHigh \
_multiplyToLen _negateExactI _negateExactL _numberOfLeadingZeros_i _numberOfLeadingZeros_l _numberOfTrailingZeros_i \
_numberOfTrailingZeros_l _onSpinWait _poly1305_processBlocks _profileBoolean _putBooleanOpaque _putBooleanRelease \
_putByteOpaque _putByteRelease _putCharOpaque _putCharRelease _putCharStringU _putCharUnaligned _putDoubleOpaque \
_putDoubleRelease _putFloatOpaque _putFloatRelease _putIntOpaque _putIntRelease _putIntUnaligned _putLongOpaque \
_putLongRelease _putLongUnaligned _putReferenceOpaque _putReferenceRelease _putShortOpaque _putShortRelease \
_putShortUnaligned _remainderUnsigned_i _remainderUnsigned_l _reverseBytes_c _reverseBytes_i _reverseBytes_l \
_reverseBytes_s _reverse_i _reverse_l _rint _roundD _roundF _sha2_implCompress _sha3_implCompress _sha5_implCompress \
_sha_implCompress _sqrt_float16 _squareToLen _storeFence _storeStoreFence _subtractExactI _subtractExactL \
_toBytesStringU _unsignedMultiplyHigh _vectorizedHashCode _vectorizedMismatch _weakCompareAndSetByte \
_weakCompareAndSetByteAcquire _weakCompareAndSetBytePlain _weakCompareAndSetByteRelease _weakCompareAndSetInt \
_weakCompareAndSetIntAcquire _weakCompareAndSetIntPlain _weakCompareAndSetIntRelease _weakCompareAndSetLong \
_weakCompareAndSetLongAcquire _weakCompareAndSetLongPlain _weakCompareAndSetLongRelease _weakCompareAndSetReference \
_weakCompareAndSetReferenceAcquire _weakCompareAndSetReferencePlain _weakCompareAndSetReferenceRelease \
_weakCompareAndSetShort _weakCompareAndSetShortAcquire _weakCompareAndSetShortPlain _weakCompareAndSetShortRelease";

/// The annotation on every method that HotSpot may replace (`vmIntrinsics`; checked by `-XX:+CheckIntrinsics` of debug builds).
const ANNOTATION: &[u8] = b"Ljdk/internal/vm/annotation/IntrinsicCandidate;";

/// Whether a class file has such methods.
pub fn may_have(class: &[u8]) -> bool {
    class.windows(ANNOTATION.len()).any(|window| window == ANNOTATION)
}

/// Methods whose identity as an intrinsic means something else to HotSpot than a replacement, or whose replacement is not in
/// [`WITH_BODY`]: the registration of finalizers hangs on Object's constructor (c1_GraphBuilder.cpp, doCall.cpp), and
/// stack walks skip Method.invoke (vframe.cpp).
pub const KEPT: &[(&str, &str)] = &[("java/lang/Object", "<init>"), ("java/lang/reflect/Method", "invoke")];

/// Methods whose Java body no JVM runs, in the interpreter or compiled: HotSpot's interpreter has an entry of its own for them
/// (`AbstractInterpreter::method_kind`), and its compilers an instruction or a routine. They stay as they are, so that counts are
/// the same with and without the compilers and on every JDK, and `Math.sqrt` is not replaced by the software it would be as Java.
/// Class, name (with the descriptor where it is overloaded), first feature release that treats it so.
pub const INTERPRETER_ENTRIES: &[(&str, &str, u32)] = &[
    ("java/lang/Math", "sin", 9),
    ("java/lang/Math", "cos", 9),
    ("java/lang/Math", "tan", 9),
    ("java/lang/Math", "tanh", 24),
    ("java/lang/Math", "cbrt", 25),
    ("java/lang/Math", "abs(D)D", 9),
    ("java/lang/Math", "sqrt", 9),
    ("java/lang/Math", "log", 9),
    ("java/lang/Math", "log10", 9),
    ("java/lang/Math", "pow", 9),
    ("java/lang/Math", "exp", 9),
    ("java/lang/Math", "fma", 9),
    ("java/lang/StrictMath", "sqrt", 21),
    ("java/lang/Float", "float16ToFloat", 20),
    ("java/lang/Float", "floatToFloat16", 20),
    ("java/util/zip/CRC32C", "updateBytes", 9),
    ("java/util/zip/CRC32C", "updateDirectByteBuffer", 9),
];
