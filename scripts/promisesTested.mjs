/**
 * The promises of docs/promises.md, given as its text, that no test of `npm test` looks at, by vitest's report in JSON: `slow` ones have
 * none that is not slow, `skipped` ones have such tests, but none of them ran.
 */
export function promisesNotTested(page, { testResults }) {
  const tests = testResults.flatMap((file) => file.assertionResults).filter(({ tags }) => !tags.includes('slow'));
  const named = numbersIn(tests);
  const tested = numbersIn(tests.filter(({ status }) => status === 'passed' || status === 'failed'));
  const numbers = [...page.matchAll(/^\| \*\*([A-Z]\d+)\*\* /gm)].map(([, number]) => number);
  return {
    slow: numbers.filter((number) => !named.has(number)),
    skipped: numbers.filter((number) => named.has(number) && !tested.has(number)),
  };
}

function numbersIn(tests) {
  return new Set(tests.flatMap(({ fullName }) => fullName.split(' ')));
}
