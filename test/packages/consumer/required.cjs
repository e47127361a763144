// Usage: node required.cjs ENTRY…: what `require` finds behind each, and `import` as well.
const entries = process.argv.slice(2);

Promise.all(
  entries.map(async (entry) => {
    const required = require(entry);
    const imported = await import(entry);
    const isSame = Object.keys(imported).every((name) => required[name] === imported[name]);
    return [entry, isSame ? Object.keys(imported).length : 'not the same'];
  }),
).then((found) => console.log(JSON.stringify(Object.fromEntries(found))));
