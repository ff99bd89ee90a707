/** Payments at the door: the capture reports that the money was collected. */
import type { Method } from '#methods/method.ts'
import { collects, hostedOrDirect, toMethods } from '#methods/rows/row.ts'

export const cashOnDelivery: readonly Method[] = toMethods(
  'cash_on_delivery',
  { flow: 'direct', integration: hostedOrDirect, terms: collects(30) },
  [
    ['CASHONDELIVERY', 'cashOnDelivery', 'Cash on delivery', '*', '*'],
    ['CARDONDELIVERY', 'cardOnDelivery', 'Card on delivery', '*', '*'],
    ['CASHONPICKUP', 'cashOnPickup', 'Pay on pickup', '*', '*'],
    ['NACHNAHME', 'nachnahme', 'Nachnahme', 'AUT DEU', 'EUR'],
    ['CONTRASSEGNO', 'contrassegno', 'Contrassegno', 'ITA', 'EUR'],
    ['CONTRAREEMBOLSO', 'contraReembolso', 'Contra reembolso', 'ESP', 'EUR'],
    ['DOBIRKA', 'dobirka', 'Dobírka', 'CZE', 'CZK'],
    ['DOBIERKA', 'dobierka', 'Dobierka', 'SVK', 'EUR'],
    ['POBRANIE', 'pobranie', 'Płatność przy odbiorze (pobranie)', 'POL', 'PLN'],
    ['UTANVET', 'utanvet', 'Utánvét', 'HUN', 'HUF'],
    ['RAMBURS', 'ramburs', 'Ramburs', 'ROU', 'RON'],
    ['NALOZHENPLATEZH', 'nalozhenPlatezh', 'Nalozhen platezh', 'BGR', 'EUR'],
    ['POUZECE', 'pouzece', 'Plaćanje pouzećem', 'HRV', 'EUR'],
    ['ANTIKATAVOLI', 'antikatavoli', 'Antikatavoli', 'GRC', 'EUR'],
    ['KAPIDAODEME', 'kapidaOdeme', 'Kapıda ödeme', 'TUR', 'TRY'],
    ['DAIBIKI', 'daibiki', 'Daibiki', 'JPN', 'JPY'],
    ['STOREPICKUPTAIWAN', 'storePickupTaiwan', 'Convenience store pickup payment (Taiwan)', 'TWN', 'TWD'],
  ],
)
