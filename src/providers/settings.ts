/**
 * Validates the settings and secrets of a provider account as its connector declares. Every error names the setting,
 * the given value and what is allowed. Pure.
 */
import type { ConnectorFacts } from '#connectors/contract.ts'
import { isPrintable } from '#domain/text.ts'
import { findMethod } from '#methods/catalogue.ts'

/** Invalid input about an account; the message says what to change. */
export class AccountFault extends Error {}

/** What was given for a connector, a setting or a secret is not allowed, whatever is stored. */
export class WrongSetting extends AccountFault {}

/** There is no such merchant, account or rule here; another cell may have it. */
export class UnknownHere extends AccountFault {}

/** The account is no longer as the person saw it. */
export class ChangedMeanwhile extends AccountFault {}

export type Settings = Readonly<Record<string, string>>

interface Occasion {
  readonly facts: ConnectorFacts
  readonly environment: 'test' | 'live'
}

/** 1,000: far more than any id or address of a provider needs. */
const settingMax = 1_000
/** 128: as much as fits on a button of the hosted page. */
const labelMax = 128
/** 16 KiB: a private key with its certificates. */
const secretMax = 16_384

const labelPrefix = 'labels.'

/** The settings that every connector has, by name. */
const sharedSettings: readonly string[] = ['baseUrl', 'labels.TYPE', 'types']

export function checkSettings(settings: Settings, { facts, environment }: Occasion): void {
  for (const [name, value] of Object.entries(settings)) {
    if (value === '' || value.length > settingMax || !isPrintable(value))
      throw new WrongSetting(`the setting ${name} must have 1 to ${settingMax} visible characters`)
    checkSetting({ name, value }, { facts, environment })
  }
  for (const [name, fact] of Object.entries(facts.settings)) {
    const applies = fact.environment === undefined || fact.environment === environment
    if (fact.required && applies && fact.default === undefined && !Object.hasOwn(settings, name))
      throw new WrongSetting(
        `the setting ${name} is missing: ${facts.name} needs --set ${name}=… (${fact.description})`,
      )
  }
}

function checkSetting(
  { name, value }: { name: string; value: string },
  { facts, environment }: Occasion,
): void {
  const fact = Object.hasOwn(facts.settings, name) ? facts.settings[name] : undefined
  if (name === 'baseUrl') checkBaseUrl(value, environment)
  if (fact) {
    if (fact.environment !== undefined && fact.environment !== environment)
      throw new WrongSetting(`the setting ${name} exists in the ${fact.environment} environment only`)
    const complaint = fact.check?.(value)
    if (complaint !== undefined) throw new WrongSetting(`the setting ${name} is "${value}": ${complaint}`)
  } else if (name === 'types') checkTypes(value, facts)
  else if (name.startsWith(labelPrefix)) checkLabel(name.slice(labelPrefix.length), value)
  else if (name !== 'baseUrl')
    throw new WrongSetting(`${facts.name} has no setting "${name}"; it has ${listSettings(facts)}`)
}

function checkBaseUrl(value: string, environment: 'test' | 'live'): void {
  if (environment === 'live')
    throw new WrongSetting(
      "the setting baseUrl exists in the test environment only; in live the provider's own hosts are called",
    )
  const url = /^https?:\/\//.test(value) && URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || [url.username, url.password, url.search, url.hash].some(part => part !== ''))
    throw new WrongSetting(
      `the setting baseUrl is "${value}", but must be an http or https address without credentials, query or fragment`,
    )
}

function checkTypes(value: string, facts: ConnectorFacts): void {
  for (const type of splitList(value)) {
    if (!findMethod(type))
      throw new WrongSetting(`the setting types names "${type}", which is not a payment method`)
    if (!facts.serves(type))
      throw new WrongSetting(`the setting types names ${type}, which ${facts.name} does not serve`)
  }
}

function checkLabel(type: string, value: string): void {
  if (!findMethod(type))
    throw new WrongSetting(`the setting labels.${type} names "${type}", which is not a payment method`)
  if (value.length > labelMax)
    throw new WrongSetting(`the setting labels.${type} may have ${labelMax} characters at most`)
}

export function checkSecrets(secrets: Settings, { facts, environment }: Occasion): void {
  for (const [name, value] of Object.entries(secrets)) {
    const fact = Object.hasOwn(facts.secrets, name) ? facts.secrets[name] : undefined
    if (!fact) {
      const known = Object.keys(facts.secrets)
      throw new WrongSetting(
        `${facts.name} has no secret "${name}"; it has ${known.length === 0 ? 'none' : known.join(', ')}`,
      )
    }
    if (value === '' || value.length > secretMax)
      throw new WrongSetting(`the secret ${name} must have 1 to ${secretMax} characters`)
    const complaint = fact.check?.(value, environment)
    if (complaint !== undefined) throw new WrongSetting(`the secret ${name} is wrong: ${complaint}`)
  }
}

/** `names`: all secrets that the account has or will have. */
export function checkSecretNames(names: readonly string[], { facts }: Occasion): void {
  for (const [name, fact] of Object.entries(facts.secrets)) {
    if (fact.required && !names.includes(name))
      throw new WrongSetting(
        `the secret ${name} is missing: ${facts.name} needs --secret ${name}=@FILE (${fact.description})`,
      )
  }
}

/** The settings with which a connector is opened: the account's own, with the connector's defaults. */
export function withDefaults(settings: Settings, { facts, environment }: Occasion): Settings {
  const defaults = Object.entries(facts.settings).flatMap(([name, fact]) =>
    fact.default === undefined || (fact.environment !== undefined && fact.environment !== environment)
      ? []
      : [[name, fact.default] as const],
  )
  return { ...Object.fromEntries(defaults), ...settings }
}

/** Undefined: all types that the connector serves. */
export const narrowedTypes = ({ types }: Settings): ReadonlySet<string> | undefined =>
  types === undefined ? undefined : new Set(splitList(types))

export const labelOf = (settings: Settings, type: string): string | undefined =>
  Object.hasOwn(settings, labelPrefix + type) ? settings[labelPrefix + type] : undefined

const splitList = (text: string): readonly string[] =>
  text
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '')

const listSettings = (facts: ConnectorFacts): string =>
  [...Object.keys(facts.settings).filter(name => !sharedSettings.includes(name)), ...sharedSettings].join(
    ', ',
  )
