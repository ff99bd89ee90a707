/** Reads what the gateway serves to customers, for the command that checks it. */

export interface ServedFile {
  readonly status: number
  readonly bytes: Buffer
  readonly headers: Headers
}

/** 15 s: as long as a customer would wait. */
const patienceMs = 15_000

export async function readServed(url: string): Promise<ServedFile> {
  const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs), redirect: 'manual' })
  return {
    status: response.status,
    bytes: Buffer.from(await response.arrayBuffer()),
    headers: response.headers,
  }
}
