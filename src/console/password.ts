/** Passwords of people: argon2id with the parameters beside the hash, so that they can be raised later. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** The contract: at least 12 characters. */
export const passwordLengthMin = 12

/** 1,024: longer ones would only use memory. */
export const passwordLengthMax = 1_024

/** 19 MiB, two passes, one lane: what OWASP recommends; about 40 ms of one core, on the thread pool. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

/**
 * At most `atOnce` calls run at the same time, the others wait in order: a flood of sign-ins must not take the threads
 * that payments need.
 */
export function inTurn<How extends unknown[], Answer>(
  atOnce: number,
  work: (...how: How) => Promise<Answer>,
): (...how: How) => Promise<Answer> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (...how) => {
    // A finished call passes its turn to the next in line, so that a call that arrives in between cannot take it.
    if (running >= atOnce) await new Promise<void>(resolve => waiting.push(resolve))
    else running += 1
    try {
      return await work(...how)
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

/** 2 of the pool's 4 threads: the others resolve the hosts of webhooks and open connections to the database. */
const hash = inTurn(2, promisify(argon2))

export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16)
  const tag = await hash('argon2id', { ...cost, message: Buffer.from(password), nonce })
  const { memory, passes, parallelism } = cost
  return `argon2id$${memory}$${passes}$${parallelism}$${nonce.toString('base64')}$${Buffer.from(tag).toString('base64')}`
}

/** Without a stored hash the same work is done for nothing, so that the time does not reveal whether an account exists. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, nonce = '', tag = ''] = (stored ?? (await unknownPerson())).split('$')
  const expected = Buffer.from(tag, 'base64')
  const computed = await hash('argon2id', {
    message: Buffer.from(password),
    nonce: Buffer.from(nonce, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  })
  return timingSafeEqual(Buffer.from(computed), expected) && stored !== undefined
}

let placeholder: Promise<string> | undefined
const unknownPerson = (): Promise<string> => {
  placeholder ??= hashPassword(randomBytes(16).toString('hex'))
  return placeholder
}
