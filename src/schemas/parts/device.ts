/** The customer's device, as a fraud service or the mobile SDK describes it. */
import type { Static } from 'typebox'
import { choice, closed, flag, freeTextMax, optional, text, whole } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

/** 100: no fraud service names more rules, and no browser more languages, for one payment. */
const listMax = 100

const list = (description: string) =>
  optional(Type.Array(Type.String({ maxLength: freeTextMax }), { maxItems: listMax, description }))

export const device = closed(
  {
    deviceId: optional(text(freeTextMax, 'Id of the device.')),
    deviceType: optional(choice(['DESKTOP', 'TABLET', 'SMARTPHONE'], 'Kind of device.')),
    deviceOs: optional(choice(['ANDROID', 'IOS', 'OTHERS'], 'Operating system.')),
    confidence: optional(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'How surely the device was recognised, in percent.',
      }),
    ),
    newDevice: optional(flag('Whether the device was never seen before.')),
    isAnonymousProxyUsed: optional(flag('Whether an anonymous proxy stands between.')),
    isProxyUsed: optional(flag('Whether a proxy stands between.')),
    country: optional(text(64, 'Country the device is in.')),
    city: optional(text(64, 'City the device is in.')),
    latitude: optional(text(32, 'Latitude.')),
    longitude: optional(text(32, 'Longitude.')),
    fraudScore: optional(whole(-1_000_000, 1_000_000, 'Score given by the fraud service.')),
    fraudScoreRules: list('Rules that led to the score.'),
    browserLanguages: list('Languages the browser asks for.'),
    isMobileDevice: optional(flag('Whether it is a mobile device.')),
    fraud: optional(choice(['fraud', 'suspicion', 'nofraud'], 'Verdict of the fraud service.')),
  },
  { title: 'Device', description: "The customer's device." },
)
export type Device = Static<typeof device>
