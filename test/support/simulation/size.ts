/** The size of a simulation: short in `npm test`, full in `npm run test:long`. */
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Set by the two configurations. */
    isLongRun: boolean
  }
}

export const inLongRun = (short: number, long: number): number => (inject('isLongRun') ? long : short)
