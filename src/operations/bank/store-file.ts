/**
 * A file for the bank on its way into the database: compressed and sealed part by part. The payments of each block are
 * stored as they are read; when all are known, the text around them is stored too, the parts get their places, and the
 * hash of all bytes is taken in their order. So each payment is read once, however many blocks there are.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { type FileFrame, type FileHeader, inOrder } from '#connectors/bank/initiation.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { createFollower } from '#operations/bank/read-ahead.ts'
import type { BankFileRecord } from '#storage/bank/bank-files.ts'
import type { BatchTransaction } from '#storage/bank/batches.ts'

const compress = promisify(gzip)
const expand = promisify<Buffer, Buffer>(gunzip)

export interface WriteTarget {
  readonly merchantId: MerchantId
  readonly transaction: BatchTransaction
  readonly bank: Bank
}

/** Payments of one block, written. */
export interface WrittenPayments {
  /** One for each payment. */
  readonly texts: readonly string[]
  readonly sum: bigint
}

export interface FileDraft {
  add(blockId: string, written: WrittenPayments): Promise<void>
  /** Stores the text around the payments, and the file with the hash of all its bytes. */
  finish(header: FileHeader, frame: FileFrame): Promise<void>
}

/** 1 MiB: some hundred kilobytes in the database. */
const partBytes = 1 << 20
/** 4 MiB: what all blocks together hold in memory before even a small one is stored. */
const waitingBytes = 4 * partBytes
/** 64 KiB: texts are short and become bytes at once, because long strings are collected late. */
const chunkBytes = 1 << 16
/** Parts have places beyond every final one until the file is finished. */
const draftPosition = 1_000_000_000

interface DraftBlock {
  payments: number
  sum: bigint
  chunks: Buffer[]
  /** How much of the last chunk is filled. */
  filled: number
  length: number
  /** The ids of its parts, in their order. */
  readonly pieces: PartId[]
}

interface PartId {
  readonly partId: string
}

export function createDraft(type: string, target: WriteTarget): FileDraft {
  const blocks = new Map<string, DraftBlock>()
  const storing = createFollower()
  let stored = 0
  let waiting = 0

  const flush = (block: DraftBlock): Promise<void> => {
    const bytes = Buffer.concat(block.chunks, block.length)
    waiting -= block.length
    block.chunks = []
    block.filled = 0
    block.length = 0
    const partId = target.bank.engine.newId()
    block.pieces.push({ partId })
    const position = draftPosition + stored++
    return storing.follow(() => storePart(bytes, { partId, type, position }, target))
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
        waiting += append(block, text)
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

const emptyBlock = (): DraftBlock => ({
  payments: 0,
  sum: 0n,
  chunks: [],
  filled: 0,
  length: 0,
  pieces: [],
})

/** Says how many bytes the text has. */
function append(block: DraftBlock, text: string): number {
  const bytes = Buffer.byteLength(text)
  const last = block.chunks.at(-1)
  if (last && block.filled + bytes <= last.length) {
    last.write(text, block.filled)
    block.filled += bytes
  } else {
    // Concatenating reads chunks to their end, so the one before gives up its rest.
    if (last) block.chunks[block.chunks.length - 1] = last.subarray(0, block.filled)
    const chunk = Buffer.allocUnsafe(Math.max(chunkBytes, bytes))
    chunk.write(text)
    block.chunks.push(chunk)
    block.filled = bytes
  }
  block.length += bytes
  return bytes
}

async function storePart(
  bytes: Buffer,
  part: { readonly partId: string; readonly type: string; readonly position: number },
  { merchantId, transaction, bank }: WriteTarget,
): Promise<void> {
  // Level 1: the text is full of repetition, and speed counts for more here than the last tenth of its size.
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

/** The stored bytes again, part by part. */
export async function* readStoredFile(file: BankFileRecord, bank: Bank): AsyncGenerator<Buffer> {
  for (let position = 0; ; position++) {
    const part = await bank.files.part(file, position)
    if (!part) return
    const { partId: recordId, keyVersion, sealed } = part
    const packed = await bank.records.open('bank file', file.merchantId, { recordId, keyVersion, sealed })
    yield await expand(packed)
  }
}
