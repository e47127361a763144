/** A key of characters that every encoding writes in another way. */
export const hostileKey = `K3y-of/the+hostile=proof%41"x\\'<&>`;
