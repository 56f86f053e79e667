/*
 * The metadata structures of Apache Parquet, format version 2.14.0.
 *
 * Names, field ids and types are the format's; the comments are this project's and say what a
 * structure means to somebody who builds, finds, asks or checks a Bloom filter. The format's own
 * explanations are at https://github.com/apache/parquet-format.
 *
 * How this becomes Python: README.md, beside this file.
 */

namespace py parquet_bloom.parquet.thrift

// ---------------------------------------------------------------------------------------------
// Schema
// ---------------------------------------------------------------------------------------------

/**
 * How a value is stored. A filter hashes exactly these bytes, whatever the logical type says:
 * the PLAIN encoding of the value, little-endian, without the length that PLAIN puts before a
 * BYTE_ARRAY.
 */
enum Type {
  /** Two possible values: a filter could exclude next to nothing. */
  BOOLEAN = 0
  /** 4 bytes; also holds the integers of 8 and 16 bits, widened. */
  INT32 = 1
  /** 8 bytes. */
  INT64 = 2
  /** 12 bytes: nanoseconds of the day, then the Julian day. Deprecated, still written. */
  INT96 = 3
  /** 4 bytes. -0.0 and +0.0 are different bytes and so different hashes; so are the many NaNs. */
  FLOAT = 4
  /** 8 bytes, with the same trap as FLOAT. */
  DOUBLE = 5
  /** Any number of bytes. */
  BYTE_ARRAY = 6
  /** As many bytes as SchemaElement.type_length says. */
  FIXED_LEN_BYTE_ARRAY = 7
}

/** The older vocabulary of annotations. Files without a LogicalType are still common. */
enum ConvertedType {
  UTF8 = 0
  MAP = 1
  MAP_KEY_VALUE = 2
  LIST = 3
  ENUM = 4
  /** With SchemaElement.scale and SchemaElement.precision. */
  DECIMAL = 5
  DATE = 6
  TIME_MILLIS = 7
  TIME_MICROS = 8
  TIMESTAMP_MILLIS = 9
  TIMESTAMP_MICROS = 10
  UINT_8 = 11
  UINT_16 = 12
  UINT_32 = 13
  UINT_64 = 14
  INT_8 = 15
  INT_16 = 16
  INT_32 = 17
  INT_64 = 18
  JSON = 19
  BSON = 20
  /** 12 bytes: months, days, milliseconds, each a uint32. LogicalType has no such member. */
  INTERVAL = 21
}

/** How often a field occurs within its parent. Nulls and empty lists never reach a filter. */
enum FieldRepetitionType {
  REQUIRED = 0
  OPTIONAL = 1
  REPEATED = 2
}

/** UTF-8 text in a BYTE_ARRAY. */
struct StringType {}

/** 16 bytes in the order in which a UUID is written: big-endian. */
struct UUIDType {}

/** A group of repeated key and value; the leaves below it have filters, the group has not. */
struct MapType {}

/** A group around a repeated element; the element's leaf column has the filter. */
struct ListType {}

/** The name of an enumeration's member, as UTF-8 text. */
struct EnumType {}

/** Days since 1970-01-01 in an INT32. */
struct DateType {}

/** IEEE 754 binary16 in two bytes; zeros and NaNs as with FLOAT. */
struct Float16Type {}

/** A column whose writer saw nothing but nulls. */
struct NullType {}

/** unscaled * 10^-scale, as a signed integer: little-endian in INT32 and INT64, big-endian else. */
struct DecimalType {
  1: required i32 scale
  2: required i32 precision
}

struct MilliSeconds {}
struct MicroSeconds {}
struct NanoSeconds {}

/** The unit is not stored with the values: a literal in another unit hashes to something else. */
union TimeUnit {
  1: MilliSeconds MILLIS
  2: MicroSeconds MICROS
  3: NanoSeconds NANOS
}

/** Units since 1970-01-01 00:00, of UTC or of a local clock, in an INT64. */
struct TimestampType {
  1: required bool isAdjustedToUTC
  2: required TimeUnit unit
}

/** Units since midnight: milliseconds in an INT32, the others in an INT64. */
struct TimeType {
  1: required bool isAdjustedToUTC
  2: required TimeUnit unit
}

/** Widths below 32 are stored, and hashed, as INT32. */
struct IntType {
  /** 8, 16, 32 or 64. */
  1: required i8 bitWidth
  2: required bool isSigned
}

/** JSON text: compared byte by byte, so spacing and key order matter to a filter. */
struct JsonType {}

/** A BSON document. */
struct BsonType {}

/** A group of metadata and value, whose bytes are not comparable as they are. */
struct VariantType {
  1: optional i8 specification_version
}

/** How an edge on the globe runs between two points. */
enum EdgeInterpolationAlgorithm {
  SPHERICAL = 0
  VINCENTY = 1
  THOMAS = 2
  ANDOYER = 3
  KARNEY = 4
}

/** Well-known binary on a plane. */
struct GeometryType {
  /** Coordinate reference system; OGC:CRS84 if not set. */
  1: optional string crs
}

/** Well-known binary on a globe. */
struct GeographyType {
  /** Coordinate reference system; OGC:CRS84 if not set. */
  1: optional string crs
  /** SPHERICAL if not set. */
  2: optional EdgeInterpolationAlgorithm algorithm
}

/** A group that refers to a range of bytes, here or in another file. */
struct FileType {}

/**
 * What the stored bytes mean: needed to turn a literal into the bytes that are hashed, never to
 * hash what is stored already. A reader that meets a member it does not know sees an empty union,
 * and the column is then what its physical type says.
 */
union LogicalType {
  1: StringType STRING
  2: MapType MAP
  3: ListType LIST
  4: EnumType ENUM
  5: DecimalType DECIMAL
  6: DateType DATE
  7: TimeType TIME
  8: TimestampType TIMESTAMP
  // 9 is kept free for an interval.
  10: IntType INTEGER
  11: NullType UNKNOWN
  12: JsonType JSON
  13: BsonType BSON
  14: UUIDType UUID
  15: Float16Type FLOAT16
  16: VariantType VARIANT
  17: GeometryType GEOMETRY
  18: GeographyType GEOGRAPHY
  19: FileType FILE
}

/**
 * One node of the schema tree. FileMetaData.schema lists the nodes depth first, the root first;
 * the n-th node that has a type is the n-th leaf column, which is RowGroup.columns[n].
 */
struct SchemaElement {
  /** Set for a leaf and only for a leaf. */
  1: optional Type type
  /** Bytes of a FIXED_LEN_BYTE_ARRAY value. */
  2: optional i32 type_length
  /** Not set for the root. */
  3: optional FieldRepetitionType repetition_type
  4: required string name
  /** Set for a group: that many of the nodes that follow, each with its descendants, are in it. */
  5: optional i32 num_children
  6: optional ConvertedType converted_type
  /** Of a ConvertedType DECIMAL. */
  7: optional i32 scale
  /** Of a ConvertedType DECIMAL. */
  8: optional i32 precision
  /** The identity of a field in a table format such as Iceberg. */
  9: optional i32 field_id
  10: optional LogicalType logicalType
}

// ---------------------------------------------------------------------------------------------
// Statistics
// ---------------------------------------------------------------------------------------------

/** What is needed to estimate the size of decoded values. */
struct SizeStatistics {
  /** Bytes of all values of a BYTE_ARRAY column, without their lengths. */
  1: optional i64 unencoded_byte_array_data_bytes
  /** How often each repetition level occurs. */
  2: optional list<i64> repetition_level_histogram
  /** How often each definition level occurs; the last entry counts the non-null values. */
  3: optional list<i64> definition_level_histogram
}

/** The box around all shapes of a column. */
struct BoundingBox {
  1: required double xmin
  2: required double xmax
  3: required double ymin
  4: required double ymax
  5: optional double zmin
  6: optional double zmax
  7: optional double mmin
  8: optional double mmax
}

struct GeospatialStatistics {
  1: optional BoundingBox bbox
  /** Codes of the kinds of shapes that occur. */
  2: optional list<i32> geospatial_types
}

/**
 * Statistics of a page or of a column chunk: what a reader asks before it asks a filter.
 *
 * Some old writers, of a dialect that never became part of the format, put a Bloom filter in here
 * as a struct in field 5 or 7. Decoded with these definitions it disappears: a field of another
 * type than expected is passed over.
 */
struct Statistics {
  /** Deprecated: compared as signed, whatever the type. */
  1: optional binary max
  /** Deprecated: compared as signed, whatever the type. */
  2: optional binary min
  /** num_values minus this is the number of values to insert. Not set means not known. */
  3: optional i64 null_count
  /** The NDV of the chunk. Hardly any writer sets it. */
  4: optional i64 distinct_count
  /** PLAIN bytes in the column's ColumnOrder; an upper bound unless is_max_value_exact. */
  5: optional binary max_value
  /** PLAIN bytes in the column's ColumnOrder; a lower bound unless is_min_value_exact. */
  6: optional binary min_value
  7: optional bool is_max_value_exact
  8: optional bool is_min_value_exact
  /** NaNs of a floating-point column. Not set means that there may be some. */
  9: optional i64 nan_count
}

// ---------------------------------------------------------------------------------------------
// Pages
// ---------------------------------------------------------------------------------------------

/** How the values of a page, or its levels, are laid out. */
enum Encoding {
  /** One value after the other, in the very bytes that are hashed. */
  PLAIN = 0
  // 1 was never used.
  /** Old name: RLE_DICTIONARY on a data page, PLAIN on a dictionary page. */
  PLAIN_DICTIONARY = 2
  /** Runs and bit-packed groups: levels, dictionary indices, booleans. */
  RLE = 3
  /** Deprecated encoding of levels. */
  BIT_PACKED = 4
  DELTA_BINARY_PACKED = 5
  DELTA_LENGTH_BYTE_ARRAY = 6
  DELTA_BYTE_ARRAY = 7
  /** Indices into the dictionary page. Such a page adds nothing to a filter. */
  RLE_DICTIONARY = 8
  BYTE_STREAM_SPLIT = 9
  /** Adaptive lossless floating point. */
  ALP = 10
}

/** How the bytes of a page are compressed. A Bloom filter never is. */
enum CompressionCodec {
  UNCOMPRESSED = 0
  SNAPPY = 1
  GZIP = 2
  LZO = 3
  BROTLI = 4
  /** Deprecated: with Hadoop's framing around the blocks, or without. */
  LZ4 = 5
  ZSTD = 6
  LZ4_RAW = 7
}

enum PageType {
  DATA_PAGE = 0
  INDEX_PAGE = 1
  DICTIONARY_PAGE = 2
  DATA_PAGE_V2 = 3
}

/** Whether the bounds in a ColumnIndex rise or fall from page to page. */
enum BoundaryOrder {
  UNORDERED = 0
  ASCENDING = 1
  DESCENDING = 2
}

/** The whole page is compressed: repetition levels, definition levels, values. */
struct DataPageHeader {
  /** Nulls included. */
  1: required i32 num_values
  2: required Encoding encoding
  3: required Encoding definition_level_encoding
  4: required Encoding repetition_level_encoding
  5: optional Statistics statistics
}

/** Never specified, never written. */
struct IndexPageHeader {}

/** The distinct values of the pages that refer to it, once each; the first page of a chunk. */
struct DictionaryPageHeader {
  /** An upper bound of what such pages contribute to the NDV. */
  1: required i32 num_values
  /** PLAIN, or PLAIN_DICTIONARY, which means the same here. */
  2: required Encoding encoding
  3: optional bool is_sorted
}

/** The levels lie uncompressed before the values, so the values can be reached without them. */
struct DataPageHeaderV2 {
  /** Nulls included. */
  1: required i32 num_values
  /** num_values minus this is the number of values that are stored. */
  2: required i32 num_nulls
  3: required i32 num_rows
  4: required Encoding encoding
  5: required i32 definition_levels_byte_length
  6: required i32 repetition_levels_byte_length
  /** Whether the values are; never the levels. */
  7: optional bool is_compressed = true
  8: optional Statistics statistics
}

/** Precedes every page. The one header that belongs to the type is set. */
struct PageHeader {
  1: required PageType type
  /** Bytes after this header, once decompressed. */
  2: required i32 uncompressed_page_size
  /** Bytes after this header in the file: the distance to the next header. */
  3: required i32 compressed_page_size
  /** CRC-32 of those bytes, as a signed number. */
  4: optional i32 crc
  5: optional DataPageHeader data_page_header
  6: optional IndexPageHeader index_page_header
  7: optional DictionaryPageHeader dictionary_page_header
  8: optional DataPageHeaderV2 data_page_header_v2
}

// ---------------------------------------------------------------------------------------------
// Bloom filters
// ---------------------------------------------------------------------------------------------

/** Blocks of 256 bits: a hash selects one block, and one bit in each of its eight words. */
struct SplitBlockAlgorithm {}

union BloomFilterAlgorithm {
  1: SplitBlockAlgorithm BLOCK
}

/** XXH64 with seed 0. */
struct XxHash {}

union BloomFilterHash {
  1: XxHash XXHASH
}

struct Uncompressed {}

union BloomFilterCompression {
  1: Uncompressed UNCOMPRESSED
}

/**
 * Lies at ColumnMetaData.bloom_filter_offset, with the bitset right behind it. A union that is
 * empty after decoding names something that the format does not know: such a filter says nothing
 * about any value.
 */
struct BloomFilterHeader {
  /** Bytes of the bitset: 32 times the number of blocks. */
  1: required i32 numBytes
  2: required BloomFilterAlgorithm algorithm
  3: required BloomFilterHash hash
  4: required BloomFilterCompression compression
}

// ---------------------------------------------------------------------------------------------
// Column chunks and row groups
// ---------------------------------------------------------------------------------------------

struct KeyValue {
  1: required string key
  2: optional string value
}

/** A column by which the rows of a row group are sorted; min and max often serve it better. */
struct SortingColumn {
  /** Index into RowGroup.columns. */
  1: required i32 column_idx
  2: required bool descending
  3: required bool nulls_first
}

/** How many pages of a chunk are of one type and encoding. */
struct PageEncodingStats {
  1: required PageType page_type
  2: required Encoding encoding
  3: required i32 count
}

/** One leaf column in one row group. */
struct ColumnMetaData {
  1: required Type type
  /** Those of the levels included: encoding_stats tells more. */
  2: required list<Encoding> encodings
  /** The names from the root's child down to the leaf. A name may itself have a dot in it. */
  3: required list<string> path_in_schema
  4: required CompressionCodec codec
  /** Nulls included: an upper bound of the values that a filter is built from. */
  5: required i64 num_values
  /** Pages and their headers; a filter is not counted. */
  6: required i64 total_uncompressed_size
  /** Pages and their headers, as they lie in the file; a filter is not counted. */
  7: required i64 total_compressed_size
  8: optional list<KeyValue> key_value_metadata
  9: required i64 data_page_offset
  10: optional i64 index_page_offset
  /** Where the chunk begins if it has a dictionary. Some writers set 0 to say that it has none. */
  11: optional i64 dictionary_page_offset
  12: optional Statistics statistics
  /** Whether all data pages are dictionary-encoded, so that the dictionary is all of the values. */
  13: optional list<PageEncodingStats> encoding_stats
  /** Where the filter's header begins; not set if the chunk has no filter. */
  14: optional i64 bloom_filter_offset
  // Since format 2.10. parquet-java 1.14.0 to 1.15.2 loses rows where it is not set.
  /** Bytes of the header and the bitset; if they are encrypted, of both modules. */
  15: optional i32 bloom_filter_length
  16: optional SizeStatistics size_statistics
  17: optional GeospatialStatistics geospatial_statistics
}

struct EncryptionWithFooterKey {}

struct EncryptionWithColumnKey {
  1: required list<string> path_in_schema
  /** From which a reader finds the key. */
  2: optional binary key_metadata
}

/** Which key encrypts a column: its pages, its indexes, and the header and bitset of its filter. */
union ColumnCryptoMetaData {
  1: EncryptionWithFooterKey ENCRYPTION_WITH_FOOTER_KEY
  2: EncryptionWithColumnKey ENCRYPTION_WITH_COLUMN_KEY
}

struct ColumnChunk {
  /** Another file that has the chunk; its offsets are then offsets in that file. */
  1: optional string file_path
  /** Deprecated, and meant different things to different writers. */
  2: required i64 file_offset = 0
  /** Not set, or without what would reveal values, if encrypted_column_metadata is set. */
  3: optional ColumnMetaData meta_data
  4: optional i64 offset_index_offset
  5: optional i32 offset_index_length
  6: optional i64 column_index_offset
  7: optional i32 column_index_length
  /** Set if the column is encrypted: a filter must then be encrypted too. */
  8: optional ColumnCryptoMetaData crypto_metadata
  /** A ColumnMetaData, encrypted with the column's key: the filter's place is then in here. */
  9: optional binary encrypted_column_metadata
}

struct RowGroup {
  /** One per leaf column, in the order of the schema. */
  1: required list<ColumnChunk> columns
  2: required i64 total_byte_size
  /** What a verdict "absent" saves a reader. */
  3: required i64 num_rows
  4: optional list<SortingColumn> sorting_columns
  5: optional i64 file_offset
  6: optional i64 total_compressed_size
  /** Position in the file. In an encrypted file it authenticates the filters, among others. */
  7: optional i16 ordinal
}

// ---------------------------------------------------------------------------------------------
// Page indexes
// ---------------------------------------------------------------------------------------------

struct TypeDefinedOrder {}
struct IEEE754TotalOrder {}
struct Int96TimestampOrder {}

/** By what order the min and max of a column were found. Filters know equality only. */
union ColumnOrder {
  /** That of the logical type, else of the physical type. */
  1: TypeDefinedOrder TYPE_ORDER
  /** Floating point with -0.0 below +0.0 and a place for every NaN. */
  2: IEEE754TotalOrder IEEE_754_TOTAL_ORDER
  /** By day, then by time of the day. */
  3: Int96TimestampOrder INT96_TIMESTAMP_ORDER
}

/** One data page. */
struct PageLocation {
  /** Of its PageHeader, in the file. */
  1: required i64 offset
  /** Header included, unlike PageHeader.compressed_page_size. */
  2: required i32 compressed_page_size
  3: required i64 first_row_index
}

/** Where the data pages of a chunk are; at ColumnChunk.offset_index_offset. */
struct OffsetIndex {
  1: required list<PageLocation> page_locations
  2: optional list<i64> unencoded_byte_array_data_bytes
}

/** Statistics per data page, one list entry each; at ColumnChunk.column_index_offset. */
struct ColumnIndex {
  /** Pages with nothing but nulls; their bounds are empty. */
  1: required list<bool> null_pages
  2: required list<binary> min_values
  3: required list<binary> max_values
  4: required BoundaryOrder boundary_order
  5: optional list<i64> null_counts
  6: optional list<i64> repetition_level_histograms
  7: optional list<i64> definition_level_histograms
  8: optional list<i64> nan_counts
}

// ---------------------------------------------------------------------------------------------
// Encryption
// ---------------------------------------------------------------------------------------------

/** AES-GCM for every module. */
struct AesGcmV1 {
  /** Additional authenticated data of the whole file, if it is stored with it. */
  1: optional binary aad_prefix
  /** Bytes that no other file has: they tie a module, a filter's too, to this file. */
  2: optional binary aad_file_unique
  /** The prefix is not stored, and a reader has to bring it. */
  3: optional bool supply_aad_prefix
}

/** AES-CTR for the bytes of pages, AES-GCM for all other modules, filters among them. */
struct AesGcmCtrV1 {
  /** As in AesGcmV1. */
  1: optional binary aad_prefix
  /** As in AesGcmV1. */
  2: optional binary aad_file_unique
  /** As in AesGcmV1. */
  3: optional bool supply_aad_prefix
}

union EncryptionAlgorithm {
  1: AesGcmV1 AES_GCM_V1
  2: AesGcmCtrV1 AES_GCM_CTR_V1
}

// ---------------------------------------------------------------------------------------------
// The file
// ---------------------------------------------------------------------------------------------

/** The footer: written last, read first. */
struct FileMetaData {
  /** 1 or 2, without a difference that a reader could rely on. */
  1: required i32 version
  2: required list<SchemaElement> schema
  3: required i64 num_rows
  4: required list<RowGroup> row_groups
  5: optional list<KeyValue> key_value_metadata
  /** Which writer to blame; adding filters leaves it as it is. */
  6: optional string created_by
  /** One per leaf column. */
  7: optional list<ColumnOrder> column_orders
  /** Set if columns are encrypted but the footer is not; a signature then follows the footer. */
  8: optional EncryptionAlgorithm encryption_algorithm
  /** From which a reader finds the key of that signature. */
  9: optional binary footer_signing_key_metadata
}

/** Precedes an encrypted footer. */
struct FileCryptoMetaData {
  1: required EncryptionAlgorithm encryption_algorithm
  /** From which a reader finds the key of the footer. */
  2: optional binary key_metadata
}
