import { NOVEL } from './session.ts'

/** Bodies that are no JSON, or none that could be an object of any kind. */
export const NOT_AN_OBJECT: Record<string, string> = {
  'no body': '',
  'a form': 'title=a&author=b&year=1',
  'an object that does not end': '{"title":"a","author":"b","year":1',
  'names without quotes': '{title:"a",author:"b",year:1}',
  'single quotes': "{'title':'a','author':'b','year':1}",
  'a trailing comma': '{"title":"a","author":"b","year":1,}',
  'a line break in a string': '{"title":"a\n","author":"b","year":1}',
  'an array': '[]',
  'an array of a book': JSON.stringify([NOVEL]),
  'a string': '"title"',
  'a number': '1969',
  'a boolean': 'true',
}

/** Objects in which one field has not the type that §2 says. */
export const WRONG_TYPE: Record<string, string> = {}
for (const field of ['title', 'author']) {
  for (const value of [5, true, {}, ['a']]) addWrongType(field, value)
}
for (const value of ['1969', '', 1.5, true, {}, [1969]]) addWrongType('year', value)

function addWrongType(field: string, value: unknown): void {
  WRONG_TYPE[`${field} is ${JSON.stringify(value)}`] = JSON.stringify({ ...NOVEL, [field]: value })
}
