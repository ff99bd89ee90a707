/**
 * Stores a file for the bank, compressed and sealed part by part. The payments of each block are stored as they are
 * read. When all are stored, the text around them is added, the parts get their final positions, and all bytes are
 * hashed in that order. So each payment is read once, however many blocks there are.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip, type ZlibOptions } from 'node:zlib'
import { type FileFrame, type FileHeader, inOrder } from '#connectors/bank/initiation.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { createFollower } from '#operations/bank/read-ahead.ts'
import type { BankFileRecord } from '#storage/bank/bank-files.ts'
import type { BatchTransaction } from '#storage/bank/batches.ts'

const compress = promisify<Buffer, ZlibOptions, Buffer>(gzip)
const unpack = promisify<Buffer, ZlibOptions, Buffer>(gunzip)

export interface WriteTarget {
  readonly merchantId: MerchantId
  readonly transaction: BatchTransaction
  readonly bank: Bank
}

/** Payments of one block as XML. */
export interface WrittenPayments {
  /** One text per payment. */
  readonly texts: readonly string[]
  readonly sum: bigint
}

export interface FileDraft {
  add(blockId: string, written: WrittenPayments): Promise<void>
  /** Stores the text around the payments, and the file with the hash of all its bytes. */
  finish(header: FileHeader, frame: FileFrame): Promise<void>
}

/** 1 MiB: compressed, some hundred kilobytes in the database. */
const partBytes = 1 << 20
/** 4 MiB: when all blocks together hold more in memory, every block is stored, however small. */
const waitingBytes = 4 * partBytes
/** 64 KiB: texts are encoded into buffers at once, because long strings are garbage-collected late. */
const chunkBytes = 1 << 16
/** Decompresses a part into one buffer instead of joining many small ones. */
const expand = (packed: Buffer): Promise<Buffer> => unpack(packed, { chunkSize: partBytes + chunkBytes })

/** Draft parts have positions above this, which no final position reaches. */
const draftPosition = 1_000_000_000

interface Chunk {
  readonly bytes: Buffer
  /** The number of bytes in use. */
  filled: number
}

interface DraftBlock {
  payments: number
  sum: bigint
  chunks: Chunk[]
  length: number
  /** The block's stored parts, in order. */
  readonly pieces: PartId[]
}

interface PartId {
  readonly partId: string
}

export function createDraft(type: string, target: WriteTarget): FileDraft {
  const blocks = new Map<string, DraftBlock>()
  const storing = createFollower()
  const memory = createPartMemory()
  let stored = 0
  let waiting = 0

  const flush = (block: DraftBlock): Promise<void> => {
    const { chunks, length } = block
    waiting -= length
    block.chunks = []
    block.length = 0
    const partId = target.bank.engine.newId()
    block.pieces.push({ partId })
    const position = draftPosition + stored++
    // `follow` waits until the previous part is stored, so its memory can be reused.
    return storing.follow(() => storePart(memory.join(chunks, length), { partId, type, position }, target))
  }
  const flushAll = async (): Promise<void> => {
    for (const block of blocks.values()) if (block.length > 0) await flush(block)
  }

  return {
    async add(blockId, { texts, sum }) {
      const block = blocks.get(blockId) ?? emptyBlock()
      blocks.set(blockId, block)
      block.payments += texts.length
      block.sum += sum
      for (const text of texts) {
        waiting += append(block, text, memory)
        if (block.length >= partBytes) await flush(block)
      }
      if (waiting >= waitingBytes) await flushAll()
    },
    async finish(header, frame) {
      await flushAll()
      await storing.finish()
      const pieces = inOrder<PartId>(header, frame, ({ blockId }) => blocks.get(blockId))
      await storeInOrder(type, { header, pieces }, target)
    },
  }
}

/** Buffers are reused, because the garbage collector frees memory outside its heap late. */
interface PartMemory {
  chunk(bytes: number): Chunk
  /** The chunks as one buffer, valid until the next call; the chunks can then be reused. */
  join(chunks: readonly Chunk[], length: number): Buffer
}

function createPartMemory(): PartMemory {
  const free: Buffer[] = []
  let joined = Buffer.alloc(0)
  return {
    chunk: bytes => ({
      bytes: bytes > chunkBytes ? Buffer.allocUnsafe(bytes) : (free.pop() ?? Buffer.allocUnsafe(chunkBytes)),
      filled: 0,
    }),
    join(chunks, length) {
      if (joined.length < length) joined = Buffer.allocUnsafe(length + chunkBytes)
      let at = 0
      for (const { bytes, filled } of chunks) {
        at += bytes.copy(joined, at, 0, filled)
        if (bytes.length === chunkBytes) free.push(bytes)
      }
      return joined.subarray(0, length)
    },
  }
}

const emptyBlock = (): DraftBlock => ({ payments: 0, sum: 0n, chunks: [], length: 0, pieces: [] })

/** Returns the number of bytes added. */
function append(block: DraftBlock, text: string, memory: PartMemory): number {
  const bytes = Buffer.byteLength(text)
  let last = block.chunks.at(-1)
  if (!last || last.filled + bytes > last.bytes.length) {
    last = memory.chunk(bytes)
    block.chunks.push(last)
  }
  last.bytes.write(text, last.filled)
  last.filled += bytes
  block.length += bytes
  return bytes
}

async function storePart(
  bytes: Buffer,
  part: { readonly partId: string; readonly type: string; readonly position: number },
  { merchantId, transaction, bank }: WriteTarget,
): Promise<void> {
  // Level 1: the text is repetitive, and speed matters more here than the last tenth of the size.
  const packed = await compress(bytes, { level: 1 })
  const sealed = await bank.records.seal('bank file', merchantId, part.partId, packed)
  await transaction.addFilePart({ ...part, ...sealed })
}

async function storeInOrder(
  type: string,
  file: { readonly header: FileHeader; readonly pieces: Iterable<string | PartId> },
  target: WriteTarget,
): Promise<void> {
  const { merchantId, transaction, bank } = target
  const hash = createHash('sha256')
  let position = 0
  for (const piece of file.pieces) {
    if (typeof piece === 'string') {
      const bytes = Buffer.from(piece)
      hash.update(bytes)
      await storePart(bytes, { partId: bank.engine.newId(), type, position }, target)
    } else {
      const part = { recordId: piece.partId, ...(await transaction.placeFilePart(piece.partId, position)) }
      hash.update(await expand(await bank.records.open('bank file', merchantId, part)))
    }
    position += 1
  }
  const { messageId, blocks } = file.header
  await transaction.addFile({
    type,
    messageId,
    payments: blocks.reduce((total, { payments }) => total + payments, 0),
    sum: blocks.reduce((total, { sum }) => total + sum, 0n),
    sha256: hash.digest('hex'),
  })
}

/** Reads a stored file part by part. */
export async function* readStoredFile(file: BankFileRecord, bank: Bank): AsyncGenerator<Buffer> {
  for (let position = 0; ; position++) {
    const part = await bank.files.part(file, position)
    if (!part) return
    const { partId: recordId, keyVersion, sealed } = part
    const packed = await bank.records.open('bank file', file.merchantId, { recordId, keyVersion, sealed })
    yield await expand(packed)
  }
}
