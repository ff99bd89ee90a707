/** How much a simulation does: a short version in `npm test`, the whole in `npm run test:long`. */
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by the two configurations. */
    isLongRun: boolean
  }
}

export const inLongRun = (short: number, long: number): number => (inject('isLongRun') ? long : short)
