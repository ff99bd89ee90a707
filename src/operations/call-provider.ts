/**
 * Calling a provider: never inside a transaction, never for ever, and never believing an answer that does not belong to
 * the question. Whatever goes wrong here ends as one of the five outcomes.
 */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import type { Engine } from '#operations/engine.ts'

/** 20 s: shorter than the 30 s at which merchants' clients commonly give up, so that they still hear PENDING from us. */
const callTimeoutMs = 20_000

/** A request that certainly never arrived is sent again at most twice. */
const maximumSends = 3

export interface Question {
  readonly operation: string
  readonly reference: XId
  readonly amount: Money
}

type Ask<T> = () => Promise<T>

/** Sends, and sends again only what certainly never arrived. `outcomeOf` picks the outcome that decides about that. */
export async function callProvider<T>(
  ask: Ask<T>,
  outcomeOf: (answer: T) => Outcome,
  fallback: T,
  context: CallContext,
): Promise<T> {
  let answer = await askOnce(ask, fallback, context)
  for (let sends = 1; sends < maximumSends && outcomeOf(answer).kind === 'unreached'; sends += 1) {
    answer = await askOnce(ask, fallback, context)
  }
  return answer
}

export interface CallContext {
  readonly question: Question
  readonly engine: Pick<Engine, 'onAlarm'>
}

async function askOnce<T>(ask: Ask<T>, fallback: T, { question, engine }: CallContext): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<T>(resolve => {
    timer = setTimeout(() => resolve(fallback), callTimeoutMs)
  })
  try {
    return await Promise.race([ask(), deadline])
  } catch (error) {
    // A connector that throws has told us nothing about what the provider did.
    engine.onAlarm({
      code: 'CONNECTOR_THREW',
      message: `${question.operation} threw`,
      xId: question.reference,
      error,
    })
    return fallback
  } finally {
    clearTimeout(timer)
  }
}

/** Amount, currency and reference echoed by the provider must be the ones we sent; otherwise we know nothing. */
export function believe(outcome: Outcome, { question, engine }: CallContext): Outcome {
  if (!('provider' in outcome)) return outcome
  const { echo } = outcome.provider
  const same =
    echo.reference === question.reference &&
    echo.amount.value === question.amount.value &&
    echo.amount.currency === question.amount.currency
  if (same) return outcome
  engine.onAlarm({
    code: 'ANSWER_MISMATCH',
    message: `the answer to ${question.operation} names another reference or amount`,
    xId: question.reference,
  })
  return { kind: 'unknown' }
}
