/**
 * Decides for which merchants background work may run. With several cells, it skips a merchant that is being moved, and
 * rows that a move has left behind in the old cell.
 */
import type { MerchantId } from '#domain/ids.ts'

/**
 * Returns a function to call when the work has ended, or why the work must not run here. The claim on the work of a
 * merchant in another cell expires by itself.
 */
export type Gate = (merchantId: MerchantId) => (() => void) | 'moving' | 'elsewhere'

const nothing = (): void => {}

/** For installations with a single cell. */
export const openGate: Gate = () => nothing
