/** Traffic that continues until it is stopped, and records which payments were acknowledged. */
export interface Sent {
  readonly transId: string
  readonly key: string
  readonly body: unknown
}

export interface Load {
  /** Answered 200: these must be stored, whatever happens. */
  readonly acknowledged: (Sent & { readonly payId: string })[]
  /** Answered 503, 409 or not at all: these may or may not be stored. */
  readonly unheard: Sent[]
  /** Resolves after that many acknowledgements. */
  reached(count: number): Promise<void>
  /** No new requests; resolves when the last one is answered or its connection is gone. */
  stop(): Promise<void>
}

export interface Traffic {
  readonly concurrency: number
  /** The status of the answer and the payId in it. */
  readonly send: (sent: Sent) => Promise<{ status: number; payId?: string }>
  readonly makeBody: (transId: string) => unknown
}

/** The allowed errors while the database or the process goes down; any other status is a fault. */
const excusable: readonly number[] = [409, 503]

export function startLoad({ concurrency, send, makeBody }: Traffic): Load {
  const acknowledged: Load['acknowledged'] = []
  const unheard: Sent[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const unexpected: string[] = []
  let stopped = false
  let made = 0

  async function sendOne(): Promise<void> {
    const transId = `load-${++made}`
    const sent = { transId, key: `key-${transId}`, body: makeBody(transId) }
    const answer = await send(sent).catch((error: unknown) => ({ status: 0, payId: undefined, error }))
    if (answer.status === 200 && answer.payId) acknowledged.push({ ...sent, payId: answer.payId })
    else {
      unheard.push(sent)
      if (answer.status !== 0 && !excusable.includes(answer.status)) unexpected.push(`${answer.status}`)
    }
    for (const { count, resolve } of waiting) if (acknowledged.length >= count) resolve()
  }
  const clients = Array.from({ length: concurrency }, async () => {
    while (!stopped) await sendOne()
  })
  return {
    acknowledged,
    unheard,
    reached: count => new Promise(resolve => waiting.push({ count, resolve })),
    async stop() {
      stopped = true
      await Promise.all(clients)
      if (unexpected.length > 0) throw new Error(`unexpected answers: ${unexpected.join(', ')}`)
    },
  }
}
