/**
 * Milliseconds that a header `Retry-After` asks to wait; undefined for what is neither whole seconds nor an HTTP date. A
 * date in the past is 0.
 * @param now milliseconds since 1970, by the clock of whoever sent the header where that is known
 */
export function parseRetryAfter(text: string, now: number): number | undefined {
  const trimmed = text.trim()
  if (/^\d+$/.test(trimmed)) return Number(trimmed) * 1_000
  const date = parseHttpDate(trimmed)
  return date === undefined ? undefined : Math.max(0, date - now)
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const time = String.raw`(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d):(?<second>[0-5]\d|60)`
const month = `(?<month>${months.join('|')})`
/** The three forms of RFC 9110, section 5.6.7; the first is the one in use. */
const forms = [
  `^[A-Z][a-z]{2}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`,
  `^[A-Z][a-z]{5,8}, (?<day>\\d{2})-${month}-(?<year>\\d{2}) ${time} GMT$`,
  `^[A-Z][a-z]{2} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`,
].map((form) => new RegExp(form))

/** Milliseconds since 1970 of a date as HTTP writes it; undefined for anything else. */
export function parseHttpDate(text: string): number | undefined {
  const fields = forms.map((form) => form.exec(text)?.groups).find(Boolean)
  if (fields === undefined) return undefined
  const day = Number(fields['day'])
  const year = Number(fields['year'])
  const days = daysSince1970(
    year < 100 ? fullYear(year) : year,
    months.indexOf(fields['month'] ?? '') + 1,
    day,
  )
  const minutes = Number(fields['hour']) * 60 + Number(fields['minute'])
  return day < 1 || day > 31
    ? undefined
    : days * 86_400_000 + minutes * 60_000 + Number(fields['second']) * 1_000
}

/** Two digits are of this century up to 69, as in POSIX. */
function fullYear(year: number): number {
  return year < 70 ? 2_000 + year : 1_900 + year
}

/** Days of the Gregorian calendar, with years that begin in March, so that leap days come last. */
function daysSince1970(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const leaps = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400)
  return shifted * 365 + leaps + ofYear - 719_468
}
