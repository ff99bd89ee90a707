/**
 * One keep-alive connection that sends a request and waits for its answer, over a bare socket: it reads the status, the
 * length and nothing else of the headers, because making load must cost little of the machine that is measured.
 */
import { connect } from 'node:net'

export interface Answer {
  readonly status: number
  /** Valid until the next request: the buffer is used again. */
  readonly body: Buffer
}

export interface Caller {
  /** One at a time. */
  ask(request: Buffer): Promise<Answer>
  close(): void
}

/** 64 KiB: many times the longest answer that is asked for here. */
const bufferBytes = 65_536

export function openCaller(port: number): Promise<Caller> {
  const opened = Promise.withResolvers<Caller>()
  let waiting: PromiseWithResolvers<Answer> | undefined
  let kept: Buffer | undefined

  const fail = (error: Error): void => {
    opened.reject(error)
    waiting?.reject(error)
  }
  const take = (bytes: Buffer): void => {
    const all = kept ? Buffer.concat([kept, bytes]) : bytes
    const answer = readAnswer(all)
    // The next piece overwrites the buffer, so an unfinished answer is copied.
    kept = answer ? undefined : Buffer.from(all)
    if (answer) waiting?.resolve(answer)
  }
  const onRead = (length: number, buffer: Uint8Array): boolean => {
    try {
      take(Buffer.from(buffer.buffer, buffer.byteOffset, length))
    } catch (error) {
      fail(error as Error)
    }
    return true
  }

  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: { buffer: Buffer.allocUnsafe(bufferBytes), callback: onRead },
  })
  socket.once('error', fail)
  socket.once('close', () => fail(new Error('the gateway closed the connection')))
  socket.once('connect', () =>
    opened.resolve({
      ask(request) {
        waiting = Promise.withResolvers<Answer>()
        socket.write(request)
        return waiting.promise
      },
      close: () => void socket.destroy(),
    }),
  )
  return opened.promise
}

/** Undefined until all of it is there. */
function readAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const headers = bytes.toString('latin1', 0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(headers)?.[1]
  if (length === undefined) throw new Error(`an answer without a length: ${headers}`)
  const bodyEnd = end + 4 + Number(length)
  if (bytes.length < bodyEnd) return undefined
  if (bytes.length > bodyEnd) throw new Error('more bytes than the answer announced')
  return { status: Number(headers.slice(9, 12)), body: bytes.subarray(end + 4, bodyEnd) }
}
